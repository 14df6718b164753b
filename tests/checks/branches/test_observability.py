"""Which sides of comparisons show: those whose elements matter."""

from __future__ import annotations

import pytest

from gradcheck.checks.branches.observability import observable_sides
from tests.checks.build import context_of


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ("grad(y) * (x > 0) * (1 + (x < -2))", [{-1, 1}, {1}]),  # what is below -2 is masked
        ("grad(y) * (1 + (x < -2))", [{-1, 1}]),
        ("where(x > 0, grad(y), grad(y))", [set()]),
        ("grad(y) * (x == 1)", [{0, 1}]),
        ("grad(y) * (x > 0).all()", [{-1}]),  # turning what is above leaves another below
        ("relu(x) * grad(y)", []),  # not stated, but inside an op
    ],
)
def test_what_shows(formula: str, shown: list[set[int]]) -> None:
    context = context_of(
        "{inputs: {x: [-3.0, 1.0, 2.0, -1.0]}, graph: {y: x * x}, backward: {y: [1.0, 2.0, 3.0, 4.0]},"
        f" formulas: {{x: '{formula}'}}}}"
    )
    point = context.points.own
    found = observable_sides(point.problem, point.scope(0).gradients, {formula}, point.scope(0))
    assert list(found.values()) == shown


def test_a_step_that_comes_to_several_tensors() -> None:
    context = context_of(
        "{inputs: {x: [[3.0, 1.0], [0.0, 2.0]]}, graph: {y: (x * x).sum()},"
        " let: {s: 'linalg.svd(where(x > 1, x, 2 * x), full_matrices=False)'}, formulas: {x: '2 * x + 0 * s[0]'}}"
    )
    point = context.points.own
    found = observable_sides(point.problem, point.scope(0).gradients, {"s"}, point.scope(0))
    assert {site.op: shown for site, shown in found.items()}["gt"] == {1}  # -1 is where either branch is 0
