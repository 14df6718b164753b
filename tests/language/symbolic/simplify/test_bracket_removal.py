"""Brackets that nobody would write, and those that stay."""

from __future__ import annotations

import pytest

from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.symbolic.simplify.bracket_removal import drop_brackets
from tests.language.symbolic.simplify.examples import know


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("2 * (a.T @ x)", "2 * a.T @ x"),
        ("-(a @ a @ x)", "-a @ a @ x"),
        ("x + 2 * (a @ x)", "x + 2 * a @ x"),
        ("2 * s * (a @ (x - y)) / n", "2 * s * a @ (x - y) / n"),
        ("x * (a @ y)", "x * (a @ y)"),  # no number
        ("exp(-(a @ x))", "exp(-a @ x)"),
        ("2 * x", "2 * x"),
        ("x * s", "s * x"),
        ("2 * x * s", "2 * s * x"),
        ("x * y * s", "s * (x * y)"),
        ("a @ (x / n)", "a @ x / n"),
        ("2 * (a @ ((x - y) / n))", "2 * a @ (x - y) / n"),
        ("a @ (x / y)", "a @ (x / y)"),
    ],
)
def test_numbers_before_products_of_matrices(before: str, after: str) -> None:
    assert to_text(drop_brackets({"f": parse(before)}, know())["f"]) == after


def test_what_occurs_twice_stays_one_part() -> None:
    found = drop_brackets({"f": parse("2 * (a @ x)"), "g": parse("exp(a @ x)")}, know())
    assert to_text(found["f"]) == "2 * (a @ x)"
