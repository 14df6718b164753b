"""Inverses and cofactors: each rule on an example, and what must stay."""

from __future__ import annotations

import pytest

from gradcheck.language.symbolic.simplify import inverses
from gradcheck.language.symbolic.simplify.simplifier import Rule
from tests.language.symbolic.simplify.examples import alone

#: A regular matrix.
B = "(a + x @ x.T)"
EXAMPLES: list[tuple[Rule, str, str]] = [
    (inverses.inverse_undone, "linalg.inv(a) @ a @ x", "x"),
    (inverses.inverse_undone, "x.T @ a.T @ linalg.inv(a).T", "x.T"),
    (inverses.inverse_undone, "linalg.inv(x @ x.T) @ x @ x.T @ u", "u"),
    (inverses.inverse_undone, "linalg.inv(a @ (a + x @ x.T)) @ a", "linalg.inv(a + x @ x.T)"),
    (inverses.cofactors_over_determinant, "cofactors(a) / linalg.det(a)", "linalg.inv(a).T"),
    (
        inverses.cofactors_undone,
        f"{B}.T @ cofactors({B} @ a @ {B}) @ {B}.T",
        f"linalg.det({B} @ a @ {B}) * linalg.inv(a).T",
    ),
]


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[f"{r.__name__}: {b}" for r, b, _ in EXAMPLES])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    assert alone(rule, before) == after


@pytest.mark.parametrize("text", ["linalg.inv(a) @ a", "a.T @ linalg.inv(a) @ x", "linalg.inv(x @ x.T) @ x"])
def test_what_is_no_inverse_of_its_neighbour_stays(text: str) -> None:
    """Of an inverse times its matrix alone nothing would be left; a factor that is no square has no inverse."""
    assert alone(inverses.inverse_undone, text) == text
