"""Parts of several results by torch's names are those by their places; of one result there are none."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gradcheck.autograd import TABLE
from gradcheck.errors import InvalidCase
from gradcheck.language.expr.named_results import PARTS, NoSuchResult, named_result
from gradcheck.language.expr.nodes import Call, Name
from gradcheck.language.expr.parser import parse
from tests.autograd import table
from tests.tables import for_each

X = Name("x")
#: torch's records by the counterparts' names; it gives back tuples with names of these kinds alone.
RECORDS = {name for name in dir(torch.return_types) if not name.startswith("_") and not name.endswith("_out")}
#: No op of the table.
ABSENT = {"geqrf", "histogram", "histogramdd", "linalg_ldl_factor", "linalg_ldl_factor_ex"}


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


def of_torch(name: str) -> list[str]:
    return list(getattr(torch.return_types, name.replace("linalg.", "linalg_")).__match_args__)


@for_each(sorted(PARTS))
def test_parts_are_called_as_in_torch(name: str) -> None:
    assert list(PARTS[name]) == of_torch(name)


def test_none_is_left_out() -> None:
    kinds = {name for name in RECORDS if hasattr(getattr(torch.return_types, name), "__match_args__")}
    mine = {name.replace("linalg.", "linalg_") for name in PARTS}
    assert {name for name in kinds if name != "SequenceKey"} == mine | ABSENT


@pytest.mark.parametrize("name", sorted(name for name in PARTS if name in TABLE))
def test_there_are_as_many_parts_as_names(name: str) -> None:
    op = TABLE[name]
    made = [op(*call.args, **call.kwargs) for call in table.calls(op)]
    several = [one for one in made if isinstance(one, tuple)]
    assert several
    assert all(len(one) == len(PARTS[name]) for one in several)
    assert all(isinstance(part, np.ndarray) for one in several for part in one)
