"""Where formulas are explained: at the same numbers in every run."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.context import Context
from gradcheck.checks.failures.explanation_points import ExplanationPoints
from gradcheck.checks.pipeline import STAGES
from gradcheck.checks.points.point import Point
from tests.checks.build import context_of

PRODUCT = """
    dims: {a: 2, b: 3, c: 4}
    inputs: {A: "randn(a, b)", B: "randn(b, c)"}
    graph: {C: A @ B}
    backward: {C: "randn(a, c)"}
    formulas: {B: A @ grad(C)}
"""
LITERAL = """
    inputs: {x: [1.0, -2.0]}
    graph: {y: x * x}
    backward: {y: [1.0, 1.0]}
    formulas: {x: 2 * x}
"""


def numbers(points: list[Point]) -> list[list[bytes]]:
    return [[a.tobytes() for a in (*p.problem.inputs.values(), *p.problem.constants.values())] for p in points]


def examined(text: str, seed: int | None = None) -> Context:
    context = context_of(text, seed=seed)
    for stage in STAGES:
        if stage.applies(context):
            context.found += stage.check(context)
    return context


@pytest.mark.parametrize("text", [PRODUCT, LITERAL])
def test_the_run_s_seed_changes_nothing(text: str) -> None:
    found = [
        ExplanationPoints(context_of(text, seed=seed).points).seed_independent(names_incoming=True)
        for seed in (0, 1, 7)
    ]
    assert numbers(found[0]) == numbers(found[1]) == numbers(found[2])


def test_first_comes_one_without_structure() -> None:
    first = ExplanationPoints(context_of(PRODUCT).points).seed_independent()[0]
    sizes = list(first.problem.sizes.values())
    assert 1 not in sizes
    assert len(set(sizes)) == len(sizes)


def test_one_has_the_case_s_own_sizes() -> None:
    context = context_of(PRODUCT, seed=3)
    ordinary = ExplanationPoints(context.points).ordinary
    assert ordinary is not None
    assert ordinary is not context.points.own
    assert ordinary.problem.sizes == context.points.own.problem.sizes
    own = context_of(PRODUCT).points
    assert ExplanationPoints(own).ordinary is own.own


def test_literals_differ_and_incoming_gradients_only_for_what_speaks_of_them() -> None:
    points = ExplanationPoints(context_of(LITERAL).points)
    assert points.generic is not None
    assert points.generic.problem.inputs["x"].tolist() != [1.0, -2.0]
    seeds = [p.problem.seeds[0]["y"] for p in points.seed_independent()]
    assert all(seed is not None and seed.tolist() == [1.0, 1.0] for seed in seeds)
    varied = points.seed_independent(names_incoming=True)[0].problem.seeds[0]["y"]
    assert varied is not None
    assert not np.array_equal(varied, [1.0, 1.0])


def test_only_what_is_written_out_varies() -> None:
    points = ExplanationPoints(context_of(PRODUCT).points)
    (claim,) = context_of(PRODUCT).case.formulas["B"]
    assert not points.must_vary_incoming(claim.expr)  # a random incoming gradient is drawn anyway
    literal = context_of(LITERAL.replace("x: 2 * x", "x: 2 * x * grad(y)"))
    (claim,) = literal.case.formulas["x"]
    assert ExplanationPoints(literal.points).must_vary_incoming(claim.expr)


def test_what_the_run_looked_at_counts_too() -> None:
    context = examined(PRODUCT)
    points = ExplanationPoints(context.points)
    assert points.points_of_run() == [context.points.own, *context.points.trials]
    moved = examined(LITERAL.replace("x: 2 * x", "x: 3 * x * grad(y)"))
    plain, all_of_them = (ExplanationPoints(moved.points).points_of_run(speaking) for speaking in (False, True))
    kinds = [p.trial.kind for p in all_of_them if p not in plain and p.trial]
    assert kinds == ["incoming"]


def test_where_nothing_else_can_be_drawn_there_is_the_case_itself() -> None:
    points = ExplanationPoints(context_of("{inputs: {x: [2.0]}, graph: {y: x * x}, formulas: {x: x}}").points)
    assert points.ordinary is points.run.own
    assert points.run.own in points.seed_independent()
