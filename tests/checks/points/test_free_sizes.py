"""Which sizes of a case can change."""

from __future__ import annotations

from dataclasses import replace

from gradcheck.checks.points.free_sizes import (
    literal_of_size,
    pinned_sizes,
    structural_sizes,
    stuck_sizes,
    unvaried_sizes,
)
from gradcheck.facts import fact
from gradcheck.language.problem import Problem
from tests.checks.conftest import Check
from tests.from_text import case_of
from tests.from_text import problem_from as problem_of


def test_a_size_that_a_literal_pins_is_stuck_and_the_others_are_free() -> None:
    problem = problem_of("""
        dims: {n: 3, m: 2}
        inputs: {x: "randn(n, m)"}
        constants: {y: [1.0, 2.0, 3.0]}
        graph: {z: (x.T @ y).sum()}
    """)
    assert stuck_sizes(problem) == {"n"}
    assert literal_of_size(problem.case, 3) == "y"
    assert literal_of_size(problem.case, 2) == ""
    assert pinned_sizes(problem) == {"n"}


def test_a_size_that_must_be_even_is_not_stuck() -> None:
    problem = problem_of("{dims: {n: 4}, inputs: {x: randn(n)}, graph: {z: 'x.reshape(n // 2, 2).sum()'}}")
    assert stuck_sizes(problem) == set()


def test_an_exponent_is_free_and_what_a_claim_means_as_a_shape_is_not() -> None:
    problem = problem_of("""
        dims: {k: 2, n: 3}
        inputs: {x: [1.0, 2.0, 3.0]}
        graph: {y: (x ** k).sum() / n}
    """)

    def fits(changed: Problem) -> bool:
        return changed.sizes["n"] == 3

    assert structural_sizes(problem, fits) == {"n"}
    assert structural_sizes(problem, lambda changed: True) == set()


def test_bounds_that_a_case_states_are_kept() -> None:
    case = case_of("""
        dims: {n: 3}
        inputs: {x: randn(n)}
        graph: {y: x.sum()}
        formulas: {x: ones(n)}
        generalize: {dims: {n: [3, 3]}}
    """)
    from gradcheck.language.sampling import draw

    assert stuck_sizes(draw(case)) == {"n"}  # nothing else is allowed


def test_sizes_that_no_trial_changes_are_told_with_the_tensor_that_pins_them() -> None:
    own = problem_of("""
        dims: {n: 3, m: 2}
        inputs: {x: "randn(n, m)"}
        constants: {y: [1.0, 2.0, 3.0]}
        graph: {z: (x.T @ y).sum()}
    """)
    other = replace(own, sizes={"n": 3, "m": 5})
    assert unvaried_sizes(own, []) == []
    assert unvaried_sizes(own, [own, other]) == [fact("size_stays", size="n", value=3, tensor="y")]


def test_sizes_whose_tensors_are_too_large_are_not_drawn(check: Check) -> None:
    """A trial of 9000 x 9000 numbers takes gigabytes, with all that two engines keep of it."""
    case = check("""
        dims: {n: 4}
        inputs: {x: randn(n)}
        graph: {y: "x[:, None] * x", z: "y.sum(dim=0)"}
        backward: {z: randn(n)}
        formulas: {y: "grad(z) * ones(n, n)"}
        generalize: {dims: {n: [5000, 9000]}}
    """)
    assert case.status == "passed"
    assert {c.trial.sizes["n"] for c in case.comparisons if c.trial is not None} == {4}
    stays = fact("size_stays_small", size="n", value=4, most=4_000_000)
    assert all(stays in c.notes for c in case.comparisons if c.formula and c.trial is None)
