"""Products of matrices in a row: each rule on an example, and what must stay."""

from __future__ import annotations

import pytest

from gradcheck.language.symbolic.simplify import matrix_chains
from gradcheck.language.symbolic.simplify.simplifier import Rule
from tests.language.symbolic.simplify.examples import alone

#: A regular matrix.
B = "(a + x @ x.T)"
EXAMPLES: list[tuple[Rule, str, str]] = [
    (matrix_chains.normal_chain, "v @ x.T", "x @ v"),
    (matrix_chains.normal_chain, "a.T @ (a.T @ a.T)", "linalg.matrix_power(a, 3).T"),
    (matrix_chains.normal_chain, "a @ a @ a @ a", "linalg.matrix_power(a, 4)"),
    (matrix_chains.normal_chain, "(a @ a.T).T @ x", "a @ a.T @ x"),
    (matrix_chains.normal_chain, "x.T @ a.T", "(a @ x).T"),
    (matrix_chains.outer_in_a_product, "a @ outer(u, v)", "outer(a @ u, v)"),
    (matrix_chains.outer_in_a_product, "outer(u, v) @ x.T", "outer(u, v @ x.T)"),
    (matrix_chains.outer_in_a_product, "outer(u, v) @ v", "u * (v @ v)"),
    (matrix_chains.vectors_multiplied, "sum(u * (a @ u))", "u @ (a @ u)"),
    (matrix_chains.inverse_undone, "linalg.inv(a) @ a @ x", "x"),
    (matrix_chains.inverse_undone, "x.T @ a.T @ linalg.inv(a).T", "x.T"),
    (matrix_chains.inverse_undone, "linalg.inv(x @ x.T) @ x @ x.T @ u", "u"),
    (matrix_chains.inverse_undone, "linalg.inv(a @ (a + x @ x.T)) @ a", "linalg.inv(a + x @ x.T)"),
    (matrix_chains.cofactors_over_determinant, "cofactors(a) / linalg.det(a)", "linalg.inv(a).T"),
    (
        matrix_chains.cofactors_undone,
        f"{B}.T @ cofactors({B} @ a @ {B}) @ {B}.T",
        f"linalg.det({B} @ a @ {B}) * linalg.inv(a).T",
    ),
]


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[f"{r.__name__}: {b}" for r, b, _ in EXAMPLES])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    assert alone(rule, before) == after


@pytest.mark.parametrize(
    "text",
    [
        "a.T @ (a @ u)",  # no shorter from the left
        "b @ b.mT",  # batches
        "(x @ v) @ a",
        "sum(x * y)",  # no vectors
        "sum(u ** 2)",
    ],
)
def test_what_is_no_shorter_stays(text: str) -> None:
    for rule in (matrix_chains.normal_chain, matrix_chains.vectors_multiplied, matrix_chains.outer_in_a_product):
        assert alone(rule, text) == text.replace("(x @ v) @ a", "x @ v @ a")


@pytest.mark.parametrize("text", ["linalg.inv(a) @ a", "a.T @ linalg.inv(a) @ x", "linalg.inv(x @ x.T) @ x"])
def test_what_is_no_inverse_of_its_neighbour_stays(text: str) -> None:
    """Of an inverse times its matrix alone nothing would be left; a factor that is no square has no inverse."""
    assert alone(matrix_chains.inverse_undone, text) == text
