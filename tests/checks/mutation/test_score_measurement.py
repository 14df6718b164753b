"""The power of whole cases; what catches a mutant, and which are none; the smallest error that is seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.modes import quiet
from gradcheck.autograd.op import TABLE
from gradcheck.autograd.sweep import Pull
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.checks.mutation.mutations import (
    PASSES_OVERWRITTEN,
    RULE_MUTATIONS,
    SWEEP_MUTATIONS,
    CoverageCore,
    MutantCore,
    Mutation,
    Shares,
    rule_mutations,
)
from gradcheck.checks.mutation.score_measurement import (
    PointSet,
    changes_something,
    core_mutant_caught_by,
    core_mutants,
    formula_mutant_caught_by,
    formula_mutants,
    measure_mutation_score,
    same_gradients,
    smallest_errors,
    with_mutation_score,
)
from gradcheck.checks.mutation_score import Mutant, MutationScore
from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.result import CaseResult, Subject
from gradcheck.engines.core import Core
from gradcheck.facts import fact
from gradcheck.language.case import Case, StatedTolerance
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.loader import load
from gradcheck.language.sampling import draw
from tests.checks.build import point_of
from tests.from_text import case_of
from tests.paths import CASES

CHAIN = """
    inputs: {x: "randn(3, 3)", w: "randn(3, 3)", b: "randn(3)"}
    graph:
      y: x @ w + b
      h: tanh(y) * y
      loss: h.mean()
"""


def measured(case: Case) -> MutationScore | None:
    options = Options()
    return measure_mutation_score(case, options, engines_of(options))


def power(text: str) -> MutationScore:
    found = measured(case_of(text))
    assert found is not None
    return found


def kinds(found: Iterable[Mutant]) -> set[str]:
    return {mutant.kind.kind for mutant in found}


def test_nothing_global_is_touched() -> None:
    problem = draw(case_of(CHAIN))
    before = Core().evaluate(problem).states[-1].gradients
    power(CHAIN)
    after = Core().evaluate(problem).states[-1].gradients
    for name, gradient in before.items():
        np.testing.assert_array_equal(np.asarray(gradient), np.asarray(after[name]))


def test_all_mutants_of_a_good_case_are_caught() -> None:
    found = power(CHAIN)
    assert found.survivors == ()
    assert kinds(found.mutants) >= {*SWEEP_MUTATIONS, *(set(RULE_MUTATIONS) - {"rule_mean_for_sum"})}
    assert not found.is_vacuous
    assert found.equivalent > 0  # a sum's gradient is all alike: its transpose is no mistake


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex128"])
def test_mistakes_are_as_large_as_the_dtype_can_show(dtype: str) -> None:
    found = power(f"""
        dtype: {dtype}
        inputs: {{x: "randn(3, 3)", w: "randn(3, 3)"}}
        graph: {{y: (x @ w) * x}}
        backward: {{y: "randn(3, 3)"}}
    """)
    assert found.survivors == ()
    assert len(found.mutants) > 15


def test_what_changes_nothing_is_no_mutant() -> None:
    """sign has a gradient of zeros, the outer product of a vector with itself is symmetric."""
    found = power("{inputs: {x: 'randn(3)'}, graph: {y: 'outer(x, x)', s: sign(x), loss: (y * y).sum() + s.sum()}}")
    assert found.survivors == ()
    assert not any(mutant.where.kind == "in_rule" and mutant.where["op"] == "sign" for mutant in found.mutants)


def test_numbers_that_hide_a_mistake_let_it_survive() -> None:
    """The rule of tanh alone is always tried with a random incoming gradient; a lost use of zeros shows nowhere."""
    found = power("{inputs: {x: [0, 0], c: [0, 0]}, graph: {y: x * c, loss: (y + x * c).sum()}}")
    assert kinds(found.survivors) >= {"use_lost", "use_doubled", "uses_overwritten"}
    assert all(mutant.where["op"] == "" for mutant in found.survivors if mutant.kind.kind == "use_lost")


def test_a_case_that_would_catch_nothing_is_vacuous() -> None:
    assert power("{inputs: {x: {values: [], shape: [0, 3]}}, graph: {loss: x.sum()}}").is_vacuous


def test_formulas_are_mutated_too() -> None:
    found = power("{inputs: {x: 1}, graph: {y: x ** 3}, formulas: {x: 3 * x ** 2}}")
    assert {mutant.where.kind for mutant in found.mutants} == {"in_rule", "in_formula"}


def test_what_is_about_an_error_has_no_power_to_measure() -> None:
    text = "{inputs: {x: [1, 2]}, graph: {y: x * x}, steps: [{backward: y, raises: non_scalar_backward}]}"
    assert measured(case_of(text)) is None


@pytest.mark.parametrize(("status", "has_power"), [("passed", True), ("failed", False), ("xfailed", False)])
def test_only_what_passes_is_measured(status: str, has_power: bool) -> None:
    case, options = case_of("{inputs: {x: [1, 2]}, graph: {y: x.sum()}}"), Options()
    result = CaseResult("", "", "", status)  # type: ignore[arg-type]
    assert (with_mutation_score(result, case, options, engines_of(options)).power is not None) == has_power


# The shipped cases -----------------------------------------------------------------------------------

SAMPLE = ["matmul/chain-of-four.yaml", "reuse/one-child.yaml", "nn/softmax.yaml", "broadcasting/rules.yaml",
          "steps/accumulation.yaml", "dtypes/precisions.yaml"]  # fmt: skip


@pytest.mark.parametrize("file", SAMPLE)
def test_shipped_cases_catch_every_mistake(file: str) -> None:
    """A sample; `python -m benchmarks power` tries them all."""
    for case in load([CASES / file]).cases:
        found = measured(case)
        assert found is None or (found.survivors == () and (found.mutants or "nothing" in case.description)), case.id


# Mutants ---------------------------------------------------------------------------------------------


def points_of(text: str) -> PointSet:
    options = Options()
    return PointSet(case_of(text), options, engines_of(options))


def test_trials_are_those_of_a_run() -> None:
    points = points_of("{inputs: {x: 'randn(3)'}, graph: {loss: x.sum()}, formulas: {x: ones(3)}}")
    assert [point.trial and point.trial.number for point in points.trials] == [1, 2, 3]
    assert points.own.trial is None


def test_a_case_in_which_nothing_varies_has_none() -> None:
    assert points_of("{inputs: {x: [1, 2]}, graph: {loss: x.sum()}, formulas: {x: ones(2)}}").trials == []


def test_unseen_points_have_other_numbers() -> None:
    points = points_of("{inputs: {x: [1, 2], r: 'randn(2)'}, graph: {y: x * r}, backward: {y: [1, 1]}}")
    numbers = [point.problem for point in (points.own, *points.unseen)]
    for name in ("x", "r"):
        assert len({tuple(problem.inputs[name]) for problem in numbers}) == 4
    assert len({tuple(np.asarray(problem.seeds[0]["y"])) for problem in numbers}) == 4


def test_unseen_points_go_as_far_as_the_own_one() -> None:
    """The step raises at the case's own numbers, and at all others."""
    points = points_of(
        "{inputs: {x: [1, 2]}, graph: {y: x * x}, steps: [{backward: y, raises: non_scalar_backward}, {zero_grad: x}]}"
    )
    assert [len(point.want.states) for point in (points.own, *points.unseen)] == [2, 2, 2, 2]


def covered(text: str) -> tuple[PointSet, CoverageCore]:
    points = points_of(text)
    right = CoverageCore()
    points.own.evaluation(right)
    return points, right


def mutation_of(right: CoverageCore, kind: str, op: str) -> Mutation:
    return next(m for m in rule_mutations(list(right.applied)) if m.kind.kind == kind and m.where["op"] == op)


def test_a_gradient_shows_it() -> None:
    points, right = covered("{inputs: {x: 'randn(3)'}, graph: {y: tanh(x), loss: y.sum()}}")
    assert core_mutant_caught_by(points, mutation_of(right, "rule_negated", "tanh")) == "gradient"


def test_what_the_graph_hides_shows_in_the_op_alone() -> None:
    """Multiplied by zero, the gradient is right whatever tanh's rule says."""
    points, right = covered("{inputs: {x: [1, 2]}, graph: {y: tanh(x) * 0, loss: y.sum()}}")
    assert core_mutant_caught_by(points, mutation_of(right, "rule_negated", "tanh")) == "node"


def test_what_these_sizes_hide_shows_in_a_trial() -> None:
    """A transpose of one number is none."""
    points, right = covered("""
        dims: {n: 1}
        inputs: {x: "randn(n, n)"}
        graph: {y: "x.T * x", loss: (y * y).sum()}
        generalize: {trials: 2, dims: {n: [2, 3]}}
    """)
    assert core_mutant_caught_by(points, mutation_of(right, "rule_transposed", "T")) == "trial"


def test_an_equivalent_mutation_changes_nothing_anywhere() -> None:
    points, right = covered("{inputs: {x: 'randn(3, 3)'}, graph: {loss: x.sum()}}")
    assert not changes_something(points, mutation_of(right, "rule_transposed", "sum"), right)
    assert changes_something(points, mutation_of(right, "rule_negated", "sum"), right)


def test_only_several_passes_can_overwrite_each_other() -> None:
    one, right = covered("{inputs: {x: [1, 2]}, graph: {y: x.sum()}}")
    assert all(m is None or m.kind != PASSES_OVERWRITTEN.kind for m in core_mutants(one, right))
    two, right = covered("{inputs: {x: [1, 2]}, graph: {y: x.sum()}, steps: [{backward: y}, {backward: y}]}")
    assert any(m is not None and m.kind == PASSES_OVERWRITTEN.kind for m in core_mutants(two, right))


def scaled(factor: float) -> Mutation:
    """All that tanh hands down, times a factor."""

    def wrap(roots: Sequence[Tensor], pull: Pull) -> Pull:
        def wrong(tensor: Tensor, gradient: np.ndarray) -> Shares:
            is_tanh = tensor.creation_op is TABLE["tanh"]
            return [(creator, factor * share if is_tanh else share) for creator, share in pull(tensor, gradient)]

        return wrong

    return Mutation(fact("rule_scaled"), fact("in_rule", op="tanh", argument="input"), wrap)


@pytest.mark.parametrize(("factor", "same"), [(1.0, True), (1 + 1e-15, True), (1 + 1e-12, False)])
def test_the_same_up_to_the_last_digits(factor: float, same: bool) -> None:
    points, right = covered("{inputs: {x: 'randn(3)'}, graph: {y: tanh(x), loss: y.sum()}}")
    assert same_gradients(points.own, MutantCore(scaled(factor)), right) == same


def mutants(text: str) -> list[Mutant]:
    return [mutant for mutant in formula_mutants(points_of(text)) if mutant is not None]


def survivors(found: list[Mutant]) -> list[Mutant]:
    return [mutant for mutant in found if not mutant.caught_by]


def test_mistakes_in_formulas_are_caught() -> None:
    found = mutants("""
        dims: {n: 2, m: 3, k: 4}
        inputs: {x: "randn(n, m)", w: "randn(m, k)"}
        graph: {y: x @ w, loss: (y * y).sum()}
        formulas:
          w: x.T @ grad(y)
          x: 2 * (x @ w) @ w.T
    """)
    assert survivors(found) == []
    assert kinds(found) >= {"transpose_removed", "factors_exchanged", "sign_changed", "factor_added", "op_swapped"}
    assert {mutant.where["tensor"] for mutant in found} == {"w", "x"}


def test_what_these_sizes_hide_in_a_formula_shows_in_a_trial() -> None:
    """Multiplied or divided by 1 is all the same."""
    found = mutants("""
        dims: {n: 1}
        inputs: {x: "randn(n, 2)"}
        graph: {loss: "(x * x).sum() * x.shape[0]"}
        formulas: {x: "2 * x * x.shape[0]"}
        generalize: {trials: 2, dims: {n: [3, 4]}}
    """)
    assert {m.caught_by for m in found if str(m.where["formula"]).endswith("x.shape[1]")} == {"formula"}
    assert {m.caught_by for m in found if m.where["formula"] == "2 * x / x.shape[0]"} == {"trial"}


def test_a_mistake_that_one_point_cannot_tell_is_refuted_by_proof_where_that_is_possible() -> None:
    """At 1, any power will do, and nothing is drawn afresh."""
    found = mutants("{inputs: {x: 1}, graph: {y: x ** 3}, formulas: {x: 3 * x ** 2}}")
    assert survivors(found) == []
    assert kinds([m for m in found if m.caught_by == "proof"]) == {"power_changed", "op_swapped"}


def test_a_mistake_that_neither_one_point_nor_a_proof_can_tell_survives() -> None:
    found = mutants(
        "{inputs: {x: 1}, graph: {y: erf(x) + x ** 3}, formulas: {x: '3 * x ** 2 + 2 * exp(-x * x) / pi ** 0.5'}}"
    )
    assert kinds(survivors(found)) == {"op_swapped"}  # exp(-x / x), which exp may excuse; not so x ** 3


def test_mistakes_in_steps_count_too() -> None:
    found = mutants("""
        dims: {n: 2, m: 3}
        inputs: {x: "randn(n, m)", w: "randn(m, n)"}
        graph: {y: x @ w, loss: (y * y).sum()}
        let: {g: 2 * x @ w, idle: x + 1}
        formulas: {w: x.T @ g}
    """)
    assert survivors(found) == []
    assert {mutant.where["name"] for mutant in found if mutant.where.kind == "in_step"} == {"g"}


def test_without_formulas_and_checks_steps_lead_nowhere() -> None:
    assert mutants("{inputs: {x: [1, 2]}, graph: {y: x.sum()}, let: {g: 2 * x}}") == []


def test_a_mistake_that_changes_no_number_is_none() -> None:
    found = mutants("{inputs: {x: 'randn(3)'}, graph: {y: (x * x).sum()}, formulas: {x: 'x + (x.T).T'}}")
    assert not any("transpose" in mutant.kind.kind for mutant in survivors(found))


@pytest.mark.parametrize(("formula", "expected"), [("3 * x", "formula"), ("2 * x", None)])
def test_a_formula_is_wrong_or_not(formula: str, expected: str | None) -> None:
    text = "{{inputs: {{x: [1, 2]}}, graph: {{y: (x * x).sum()}}, formulas: {{x: {0}}}}}"
    points = points_of(text.format("2 * x"))
    assert formula_mutant_caught_by(points, [case_of(text.format(formula))]) == expected


def test_the_smallest_factor_is_one_that_the_tolerance_lets_show() -> None:
    found = mutants("{inputs: {x: [1, 2]}, graph: {y: x.sum()}, formulas: {x: ones(2)}, tolerance: {rtol: 0.01}}")
    factors = {mutant.kind["factor"] for mutant in found if mutant.kind.kind == "factor_added"}
    assert max(factors - {2.0}) == pytest.approx(1.1)


# The smallest error ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rtol", [None, 1e-6])
def test_the_smallest_error_is_where_a_comparison_turns(rtol: float | None) -> None:
    point = point_of(CHAIN)
    smallest = smallest_errors(point, None if rtol is None else StatedTolerance(rtol))
    assert set(smallest) == {"x", "w", "b", "y", "h", "loss"}
    for name, error in smallest.items():
        want = np.asarray(point.want.states[-1].gradients[name])
        slack = point.conditioning.allowance(ClaimKind.GRADIENT, 0, name)
        tolerance = Tolerance(rtol or 1e-10)
        index = np.unravel_index(np.argmin(tolerance.allowed(np.abs(want), slack) / np.abs(want)), want.shape)
        for factor, status in ((1.02, "failed"), (0.98, "passed")):
            wrong = want.copy()
            wrong[index] *= 1 + factor * error
            found = compare(wrong, want, tolerance, Subject(ClaimKind.GRADIENT, name), slack)
            assert found.status == status, (name, factor)


def test_a_gradient_of_zeros_shows_any_error() -> None:
    point = point_of("{inputs: {x: [0, 0], y: [1, 2]}, graph: {loss: (x * y).sum()}}")
    assert smallest_errors(point, None)["y"] == 0.0


def test_a_gradient_without_a_finite_element_has_none() -> None:
    point = point_of("{inputs: {x: [0, 0], y: [1, 2]}, graph: {loss: log(x * 0).sum() + y.sum()}}")
    with quiet():
        assert set(smallest_errors(point, None)) == {"y", "loss"}


def derivation(steps: int) -> str:
    """So many formulas, each with a step of its own; the last one's is made of two."""
    numbers = range(steps)
    inputs, graph, let, formulas = (
        ", ".join(text.format(i=i) for i in numbers)
        for text in ("x{i}: [1, 2]", "y{i}: x{i} * x{i}", "d{i}: 2 * grad(y{i})", "x{i}: d{i} * x{i}")
    )
    total = " + ".join(f"y{i}.sum()" for i in numbers)
    return f"inputs: {{{inputs}}}\ngraph: {{{graph}, loss: {total}}}\nlet: {{{let}}}\nformulas: {{{formulas}}}\n"


def test_a_mutant_of_a_step_costs_what_depends_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluations of claims and steps are counted: three times as many steps are looked at in three times as many."""
    counted = [0]

    def counting(*args: Any, **kwargs: Any) -> Any:
        counted[0] += 1
        return evaluate(*args, **kwargs)

    monkeypatch.setattr("gradcheck.checks.scope.evaluate", counting)
    costs, caught = [], []
    for steps in (3, 9):
        counted[0] = 0
        with quiet():
            caught.append([mutant.caught_by for mutant in formula_mutants(points_of(derivation(steps))) if mutant])
        costs.append(counted[0])
    assert set(caught[1]) == {"formula"}
    assert len(caught[1]) == 3 * len(caught[0])
    assert costs[1] <= 3.5 * costs[0]


def test_a_step_shows_in_any_claim_that_it_leads_to() -> None:
    """Also where the nearest hides it, and in checks."""
    text = "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nlet: {a: 2 * x, b: a * 1}\n"
    for claims in ("formulas: {x: [a + 0 * x, 2 * x + 0 * a]}", "checks: [grad(x) == b]", "formulas: {x: b}"):
        with quiet():
            mutants = list(formula_mutants(points_of(f"{text}{claims}\n")))
        of_steps = [m for m in mutants if m and m.where.kind == "in_step" and m.where["name"] == "a"]
        assert of_steps
        assert {m.caught_by for m in of_steps} == {"formula"}
