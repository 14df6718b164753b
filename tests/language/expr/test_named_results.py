"""Parts of several results by torch's names are those by their places; of one result there are none."""

import pytest

from gradcheck.autograd.parts import PARTS
from gradcheck.errors import InvalidCase
from gradcheck.language.expr.named_results import NoSuchResult, named_result
from gradcheck.language.expr.nodes import Call, Name
from gradcheck.language.expr.parser import parse

X = Name("x")


@pytest.mark.parametrize(
    ("named", "by_place"),
    [
        ("max(x, dim=1).values", "max(x, dim=1)[0]"),
        ("x.max(1).indices[:, None]", "x.max(1)[1][:, None]"),
        ("x.median(-1).values", "x.median(-1)[0]"),
        ("sort(x).values.sum()", "sort(x)[0].sum()"),
        ("torch.linalg.svd(x, full_matrices=False).Vh @ y", "torch.linalg.svd(x, full_matrices=False)[2] @ y"),
        ("torch.svd(x).V", "torch.svd(x)[2]"),
        ("x.slogdet().logabsdet", "x.slogdet()[1]"),
        ("aminmax(x).max - aminmax(x).min", "aminmax(x)[1] - aminmax(x)[0]"),
        ("linalg.lstsq(x, y).solution", "linalg.lstsq(x, y)[0]"),
    ],
)
def test_a_part_is_the_one_at_its_place(named: str, by_place: str) -> None:
    assert parse(named) == parse(by_place)


def test_every_name_is_a_place() -> None:
    for op, names in PARTS.items():
        call = Call(op, (X,), (("dim", X),))
        for place, name in enumerate(names):
            assert named_result(X, call, name) == parse(f"x[{place}]")


@pytest.mark.parametrize("text", ["max(x, y).values", "median(x).values", "exp(x).values", "sort(x).Q", "x[0].values"])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(InvalidCase):
        parse(text)


def test_why_there_is_none() -> None:
    assert isinstance(named_result(X, X, "values"), NoSuchResult)
    assert "dim=1" in named_result(X, parse("max(x)"), "values")[1]  # type: ignore[operator, index]
