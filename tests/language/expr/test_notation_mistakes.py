"""Habits from elsewhere, found in a text that is no expression; what each comes to stands in `tests/slips`."""

from __future__ import annotations

import time

import pytest

from gradcheck.errors import Hint
from gradcheck.language.expr.notation_mistakes import find_notation_mistake
from gradcheck.language.expr.parser import parse

MENDED = {
    "X^T @ Y": "X.T @ Y",
    "X' @ Y": "X.T @ Y",
    "X^T Y": "X.T @ Y",
    "X' (Y + Z)": "X.T @ (Y + Z)",
    "X^{\\top}": "X.T",
    "a .* b": "a * b",
    "a ./ b": "a / b",
    "a.^2": "a**2",
    "2X": "2 * X",
    "x − 1": "x - 1",
    "x²": "x ** 2",
    "x · y": "x  *  y",
    "x;": "x",
    "||x||": "linalg.norm(x)",
    "|x|": "abs(x)",
    "(a > 0) && (b < 1)": "(a > 0) & (b < 1)",
    "sum(x, dim:1)": "sum(x, dim=1)",
    "assert x == y": "x == y",
    "einsum(ij->ji, x)": "einsum('ij->ji', x)",
}


@pytest.mark.parametrize("part", ["é", "x²", "x ", "''", "x'", "a^", " ;", "9", "%a ", "||", "(", "\\a"])
def test_a_long_text_takes_no_longer_than_its_length(part: str) -> None:
    started = time.process_time()
    find_notation_mistake(part * (10_000 // len(part)))
    assert time.process_time() - started < 1


@pytest.mark.parametrize(("wrong", "right"), MENDED.items())
def test_a_hint_that_names_one_thing_makes_an_expression_of_it(wrong: str, right: str) -> None:
    found = find_notation_mistake(wrong)
    assert found is not None
    hint = found.hint
    assert isinstance(hint, Hint)
    assert wrong.startswith(hint.old, found.at)
    mended = wrong[: found.at] + hint.new + wrong[found.at + len(hint.old) :]
    assert mended == right
    parse(mended)


@pytest.mark.parametrize(
    "text",
    ["x + y", "x.sum(dim=1)", "einsum('i j, k -> k', x)", "x[1:2, None]", "x ** -1", "x @ y.T", "1e-3 * x", "a != b"],
)
def test_what_is_an_expression_has_none(text: str) -> None:
    assert find_notation_mistake(text) is None


def test_the_first_of_several_is_told() -> None:
    found = find_notation_mistake("H^T dZ2")
    assert found is not None
    assert (found.at, found.hint) == (1, "transpose is H.T, product is @")
