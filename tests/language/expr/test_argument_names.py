"""Arguments under the names that they have in one form of a function."""

import pytest

from gradcheck.errors import InvalidCase
from gradcheck.language.expr.parser import parse


@pytest.mark.parametrize(
    ("named", "by_place"),
    [
        ("x.split(split_size=2)", "x.split(2)"),
        ("torch.tensor_split(x, indices=(1, 2), dim=1)", "torch.tensor_split(x, (1, 2), dim=1)"),
        ("hsplit(x, sections=2)", "hsplit(x, 2)"),
        ("x.vsplit(indices=[1])", "x.vsplit([1])"),
        ("scatter(x, 0, i, value=2.5)", "scatter(x, 0, i, 2.5)"),
        ("x.scatter(value=2.5, index=i, dim=1)", "x.scatter(1, i, 2.5)"),
    ],
)
def test_an_argument_by_the_name_that_it_has_in_one_form(named: str, by_place: str) -> None:
    assert parse(named) == parse(by_place)


@pytest.mark.parametrize("text", ["scatter(x, 0, i, y, value=2)", "scatter(x, value=2)", "split(x, 2, split_size=2)"])
def test_an_argument_that_has_no_place_left_is_refused(text: str) -> None:
    with pytest.raises(InvalidCase):
        parse(text)
