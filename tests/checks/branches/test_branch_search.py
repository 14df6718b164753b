"""Numbers on the other side of a branch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.branches import search_variables
from gradcheck.checks.branches.branch_search import BranchSearch, search_paths
from gradcheck.checks.branches.branch_sites import BranchSite, Margin, SearchBudget
from gradcheck.checks.branches.margin_recording import branching_owners, margins_at, sides_met
from gradcheck.checks.branches.search_variables import SearchVariable
from gradcheck.language.problem import Problem
from tests.from_text import problem_from as problem_of

ABOVE, EQUAL = BranchSite("f", 0, "gt"), BranchSite("f", 0, "eq")
X = SearchVariable("x")


def of_a_square(formula: str) -> Problem:
    return problem_of(f"""
        dims: {{n: 4}}
        inputs: {{x: randn(n)}}
        graph: {{y: x * x}}
        backward: {{y: randn(n)}}
        formulas: {{x: "{formula}"}}
    """)


def found(problem: Problem, op: str, side: int, along: bool = False) -> Problem | None:
    gradients = {root: seed for root, seed in problem.seeds[-1].items() if seed is not None}
    sites = [
        site for site in sides_met(margins_at(problem, gradients, branching_owners(problem.case))) if site.op == op
    ]
    assert sites
    looked = BranchSearch(problem, gradients)
    look = looked.find_on_paths if along else looked.find
    return next((other for site in sites if (other := look((site, side)))), None)


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
        ("x * isfinite(log(x + 9))", "log", -1, lambda x: (x < -9).any()),
    ],
)
def test_thresholds_are_crossed(formula: str, op: str, side: int, holds: object) -> None:
    problem = of_a_square(formula)
    other = found(problem, op, side)
    assert other is not None
    assert callable(holds)
    assert holds(other.inputs["x"])
    assert other.constants == problem.constants


#: Comparisons that no slope leads to, and what holds on their side.
NO_SLOPE = [
    ("round(x) == 11", "eq", 0, lambda x: np.round(x) == 11),
    ("round(exp(x)) == 40", "eq", 0, lambda x: np.round(np.exp(x)) == 40),
    ("x.int() == 7", "eq", 0, lambda x: np.trunc(x) == 7),
    ("x.long() > 30", "gt", 1, lambda x: x >= 31),
    ("x // 3 == 5", "eq", 0, lambda x: np.floor(x / 3) == 5),
    ("x * x == 2.25", "eq", 0, lambda x: x * x == 2.25),
    ("floor(x ** 3) % 7 == 4", "eq", 0, lambda x: np.floor(x**3) % 7 == 4),
    ("sign(sin(x) - 0.9) == 1", "eq", 0, lambda x: np.sin(x) > 0.9),
    ("isclose(x, full_like(x, 3))", "isclose", 0, lambda x: np.isclose(x, 3)),
    ("signbit(x + 20)", "signbit", -1, lambda x: x < -20),
    ("trunc(x - 8).bool()", "to", 0, lambda x: np.trunc(x - 8) == 0),
    ("(round(x) == 4).all()", "eq", 2, lambda x: (np.round(x) == 4).all()),
    ("round(grad(y)) == 25", "eq", 0, None),
]


def test_what_no_slope_leads_to_is_found_along_a_path() -> None:
    missed = []
    for condition, op, side, holds in NO_SLOPE:
        problem = of_a_square(f"where({condition}, x, 2 * x) * grad(y)")
        other = found(problem, op, side, along=True)
        if other is None or (holds is not None and not np.any(holds(other.inputs["x"]))):
            missed.append(condition)
    assert not missed


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
    margins = search_variables.log_margins

    def noted(about: Problem, *rest: Any) -> Any:
        asked.append({*about.case.graph, *about.case.let})
        return margins(about, *rest)

    monkeypatch.setattr(search_variables, "log_margins", noted)
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
        assert other.draw_settings.variation.incoming is written


def test_constants_stay_and_nothing_is_found_where_they_decide() -> None:
    problem = problem_of("""
        inputs: {x: [1.0, 2.0]}
        constants: {c: [1.0, 2.0]}
        graph: {y: (x * relu(c)).sum()}
        formulas: {x: relu(c)}
    """)
    gradients = {"y": np.ones(())}
    search = BranchSearch(problem, gradients)
    assert search.find((BranchSite("y", 0, "le"), -1)) is None


def test_comparisons_of_one_claim_share_the_places_of_a_path() -> None:
    problem, budget = of_a_square("x * (x * x > -1) * (x * x > -2)"), SearchBudget()
    gradients = {root: seed for root, seed in problem.seeds[-1].items() if seed is not None}
    sites = [site for site in margins_at(problem, gradients, branching_owners(problem.case)) if site.op == "gt"]
    search, lefts = BranchSearch(problem, gradients, budget), [budget.left]
    for site in sites:
        assert search.find_on_paths((site, -1)) is None
        lefts.append(budget.left)
    assert lefts[0] > lefts[1] == lefts[2]


def test_nothing_is_found_without_a_budget() -> None:
    problem = of_a_square("where(x > 6, x, 2 * x)")
    (site,) = (s for s in margins_at(problem, {}, branching_owners(problem.case)) if s.op == "gt")
    assert BranchSearch(problem, {}).find((site, 1)) is not None
    assert BranchSearch(problem, {}, SearchBudget(0)).find((site, 1)) is None


def walked(site: BranchSite, side: int, f: Callable[[np.ndarray], np.ndarray]) -> np.ndarray | None:
    """The number at which the margin `f` is on this side, on a path that begins at 0.9."""

    def path(place: float, grid: int) -> dict[SearchVariable, np.ndarray]:
        number = np.array([0.9 * place])
        return {X: np.rint(number * grid) / grid if grid else number}

    found = search_paths(
        [(site, side)], [path], lambda path, place, grid=0: [Margin(f(path(place, grid)[X]), np.ones(1))]
    )
    return None if found is None else found[X]


def test_a_number_that_a_rounded_function_takes() -> None:
    found = walked(EQUAL, 0, lambda x: np.round(np.exp2(np.minimum(x, 99))) - 40)
    assert found is not None
    assert np.round(np.exp2(found)) == 40


def test_a_number_that_is_round() -> None:
    assert walked(EQUAL, 0, lambda x: x * x * x - 3.375) == 1.5


def test_near_to_where_a_side_begins() -> None:
    found = walked(ABOVE, 1, lambda x: x - 6)
    assert found is not None
    assert 6 < found < 6.1


def test_where_nothing_comes_out_so() -> None:
    assert walked(ABOVE, 1, lambda x: -x * x) is None
    assert walked(EQUAL, 0, lambda x: np.round(x) - 0.5) is None
