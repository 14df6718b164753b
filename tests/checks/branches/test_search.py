"""Numbers on the other side of a branch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.checks.branches import search
from gradcheck.checks.branches.comparison import Site
from gradcheck.checks.branches.search import BranchSearch
from gradcheck.checks.branches.sites import branching, margins_at, sides
from gradcheck.language.problem import Problem
from tests.from_text import problem_from as problem_of


def found(problem: Problem, op: str, side: int) -> Problem | None:
    gradients = {root: seed for root, seed in problem.seeds[-1].items() if seed is not None}
    sites = [site for site in sides(margins_at(problem, gradients, branching(problem.case))) if site.op == op]
    assert sites
    looked = BranchSearch(problem, gradients)
    return next((other for site in sites if (other := looked.find((site, side)))), None)


@pytest.mark.parametrize(
    ("formula", "op", "side", "holds"),
    [
        ("where(x > 6, x, 2 * x)", "gt", 1, lambda x: (x > 6).any()),
        ("where(x < -40, x, 2 * x)", "lt", -1, lambda x: (x < -40).any()),
        ("where(abs(x) < 0.001, x, 2 * x)", "lt", -1, lambda x: (abs(x) < 0.001).any()),
        ("where(x.sum() > 25, x, 2 * x)", "gt", 1, lambda x: x.sum() > 25),
        ("where(x == round(x), x, 2 * x)", "eq", 0, lambda x: (x == np.round(x)).any()),
        ("where((x == 2).all(), x, 2 * x)", "eq", 2, lambda x: (x == 2).all()),
        ("where(exp(x) > 400, x, 2 * x)", "gt", 1, lambda x: ((x > 5.99) & (x < 9)).any()),  # not far beyond alone
        ("where(round(x) == 11, x, 2 * x)", "eq", 0, lambda x: (np.round(x) == 11).any()),
        ("x * isfinite(log(x + 9))", "log", -1, lambda x: (x < -9).any()),
    ],
)
def test_thresholds_are_crossed(formula: str, op: str, side: int, holds: object) -> None:
    problem = problem_of(f"""
        dims: {{n: 4}}
        inputs: {{x: randn(n)}}
        graph: {{y: x * x}}
        backward: {{y: randn(n)}}
        formulas: {{x: "{formula}"}}
    """)
    other = found(problem, op, side)
    assert other is not None
    assert callable(holds)
    assert holds(other.inputs["x"])
    assert other.constants == problem.constants


def test_no_more_of_a_graph_is_evaluated_than_the_branch_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of("""
        dims: {n: 3}
        inputs: {x: randn(n)}
        graph: {h: 2 * x, other: exp(x), far: other.sum(), y: h * h}
        backward: {y: randn(n)}
        let: {step: h + 1, unused: other * 2, threshold: step - 8}
        formulas: {x: "where(threshold > 0, x, 4 * x) * grad(y)"}
    """)
    asked: list[set[str]] = []
    margins = search.margins

    def noted(about: Problem, *rest: Any) -> Any:
        asked.append({*about.case.graph, *about.case.let})
        return margins(about, *rest)

    monkeypatch.setattr(search, "margins", noted)
    other = found(problem, "gt", 1)
    assert other is not None
    assert other.inputs["x"].max() > 3.5
    assert asked
    assert all(names == {"h", "step", "threshold"} for names in asked)


def test_random_creators_within_an_expression_move_and_the_rest_is_made_again() -> None:
    problem = problem_of("""
        dims: {n: 3}
        inputs: {x: "randn(n) * 0.1 + 2", s: x * x}
        graph: {y: relu(s - 25).sum()}
        formulas: {x: "0 * x"}
    """)
    other = found(problem, "le", 1)
    assert other is not None
    assert other.inputs["s"].max() > 25
    np.testing.assert_allclose(other.inputs["s"], other.inputs["x"] ** 2)


def test_a_stated_domain_is_kept() -> None:
    problem = problem_of("""
        dims: {n: 4}
        inputs: {x: "uniform(1, 2, n)"}
        graph: {y: (x * x).sum()}
        formulas: {x: "where(x > 3, x, 2 * x)"}
    """)
    assert found(problem, "gt", 1) is None
    nearer = problem_of("""
        dims: {n: 4}
        inputs: {x: "uniform(1, 2, n)"}
        graph: {y: (x * x).sum()}
        formulas: {x: "where(x > 1.999, x, 2 * x)"}
    """)
    other = found(nearer, "gt", 1)
    assert other is not None
    assert 1.999 < other.inputs["x"].max() <= 2


@pytest.mark.parametrize("formula", ["where(x.sum() == 0, x, 2 * x)", "where(sqrt(x * x) == x, 5, 2 * x)"])
def test_equality_is_not_looked_for_outside_of_a_stated_domain(formula: str) -> None:
    problem = problem_of(f"""
        dims: {{n: 1}}
        inputs: {{x: "uniform(-3, -0.5, [n])"}}
        graph: {{y: (x * x).sum()}}
        formulas: {{x: "{formula}"}}
    """)
    assert found(problem, "eq", 0) is None


def test_an_incoming_gradient_moves_and_says_so_where_the_file_writes_it_out() -> None:
    text = """
        inputs: {{x: [1.0, 2.0]}}
        graph: {{y: x * x}}
        backward: {{y: {0}}}
        formulas: {{x: "2 * x * clamp(grad(y), max=10)"}}
    """
    for seed, written in (("[1.0, 1.0]", True), ("randn(2)", False)):
        other = found(problem_of(text.format(seed)), "le", 1)
        assert other is not None
        assert other.seeds[0]["y"] is not None
        assert other.seeds[0]["y"].max() > 10
        assert other.drawn.variation.incoming is written


def test_constants_stay_and_nothing_is_found_where_they_decide() -> None:
    problem = problem_of("""
        inputs: {x: [1.0, 2.0]}
        constants: {c: [1.0, 2.0]}
        graph: {y: (x * relu(c)).sum()}
        formulas: {x: relu(c)}
    """)
    gradients = {"y": np.ones(())}
    search = BranchSearch(problem, gradients)
    assert search.find((Site("y", 0, "le"), -1)) is None
