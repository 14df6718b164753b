"""The power of whole cases: what is caught, what is vacuous, what is not measured; the smallest error that is seen."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.modes import quiet
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.checks.mutation.core_mutations import RULE_MUTATIONS, SWEEP_MUTATIONS
from gradcheck.checks.mutation.measure import measure, smallest_errors, with_power
from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.power import Mutant, Power
from gradcheck.checks.result import CaseResult, ClaimKind, Subject
from gradcheck.engines.core import Core
from gradcheck.language.case import Case, StatedTolerance
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


def measured(case: Case) -> Power | None:
    options = Options()
    return measure(case, options, engines_of(options))


def power(text: str) -> Power:
    found = measured(case_of(text))
    assert found is not None
    return found


def kinds(mutants: tuple[Mutant, ...]) -> set[str]:
    return {mutant.kind.kind for mutant in mutants}


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
    assert (with_power(result, case, options, engines_of(options)).power is not None) == has_power


# The shipped cases -----------------------------------------------------------------------------------

SAMPLE = ["matmul/chain-of-four.yaml", "reuse/one-child.yaml", "nn/softmax.yaml", "broadcasting/rules.yaml",
          "steps/accumulation.yaml", "dtypes/precisions.yaml"]  # fmt: skip


@pytest.mark.parametrize("file", SAMPLE)
def test_shipped_cases_catch_every_mistake(file: str) -> None:
    """A sample; `python -m benchmarks power` tries them all."""
    for case in load([CASES / file]).cases:
        found = measured(case)
        assert found is None or (found.survivors == () and (found.mutants or "nothing" in case.description)), case.id


# The smallest error ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rtol", [None, 1e-6])
def test_the_smallest_error_is_where_a_comparison_turns(rtol: float | None) -> None:
    point = point_of(CHAIN)
    smallest = smallest_errors(point, None if rtol is None else StatedTolerance(rtol))
    assert set(smallest) == {"x", "w", "b", "y", "h", "loss"}
    for name, error in smallest.items():
        want = np.asarray(point.want.states[-1].gradients[name])
        slack = point.conditioning.slack(ClaimKind.GRADIENT, 0, name)
        index = np.unravel_index(np.argmax(np.abs(want)), want.shape)
        for factor, status in ((1.02, "failed"), (0.98, "passed")):
            wrong = want.copy()
            wrong[index] *= 1 + factor * error
            found = compare(wrong, want, Tolerance(rtol or 1e-10, 1e-10), Subject(ClaimKind.GRADIENT, name), slack)
            assert found.status == status, (name, factor)


def test_a_gradient_of_zeros_shows_any_error() -> None:
    point = point_of("{inputs: {x: [0, 0], y: [1, 2]}, graph: {loss: (x * y).sum()}}")
    assert smallest_errors(point, None)["y"] == 0.0


def test_a_gradient_without_a_finite_element_has_none() -> None:
    point = point_of("{inputs: {x: [0, 0], y: [1, 2]}, graph: {loss: log(x * 0).sum() + y.sum()}}")
    with quiet():
        assert set(smallest_errors(point, None)) == {"y", "loss"}
