"""Shapes of an expression's tensors that go together."""

from __future__ import annotations

import pytest

from gradcheck.errors import GradcheckError, UsageError
from gradcheck.language.cookbook.case_from_expression import case_from_expression
from gradcheck.language.expr.parser import parse
from gradcheck.language.sampling import draw


def shapes(text: str, **given: list[str]) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in draw(case_from_expression(text, parse(text), given)).inputs.items()}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("trace(A @ X.T @ B)", {"A": (2, 3), "X": (5, 3), "B": (5, 2)}),
        ("x @ A @ x", {"x": (2,), "A": (2, 2)}),
        ("A @ x + b", {"A": (2, 3), "x": (3,), "b": (2,)}),
        ("((A - B) ** 2).sum()", {"A": (2, 3), "B": (2, 3)}),
        ("logdet(A @ A.T + B)", {"A": (2, 3), "B": (2, 2)}),
        ("layer_norm(x, (5,)) * y", {"x": (5,), "y": (5,)}),
    ],
)
def test_as_different_as_they_can_be(text: str, found: dict[str, tuple[int, ...]]) -> None:
    assert shapes(text) == found


def test_none_that_go_together() -> None:
    with pytest.raises(UsageError, match="go together") as raised:
        shapes("x.reshape(1000)")
    assert "--shape" in str(raised.value)


def test_those_that_are_given() -> None:
    assert shapes("A @ B", A=["n", "m"]) == {"A": (2, 3), "B": (3, 5)}
    assert shapes("x * y", x=["3"], y=["3"]) == {"x": (3,), "y": (3,)}
    assert shapes("exp(t) * x", t=[]) == {"t": (), "x": (2,)}


def test_numbers_for_which_it_is_defined() -> None:
    assert (draw(case_from_expression("log(x).sum()", parse("log(x).sum()"), {})).inputs["x"] > 0).all()
    assert case_from_expression("logdet(S)", parse("logdet(S)"), {}).inputs["S"]


def test_what_is_no_expression_of_tensors() -> None:
    with pytest.raises(GradcheckError):
        case_from_expression("log(-exp(x))", parse("log(-exp(x))"), {})
