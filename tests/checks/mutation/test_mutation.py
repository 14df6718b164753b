"""Planted faults: each kind is caught where it changes anything, is no fault where it does not, and says what it is."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.tolerance import Limits
from gradcheck.checks.mutation import Planted, Power, measure
from gradcheck.checks.mutation.engine import Faulty, Witness
from gradcheck.checks.mutation.faults import IN_RULES, IN_SWEEP, OVERWRITTEN, Fault, rule_faults, sweep_faults
from gradcheck.checks.mutation.scenes import Scene, moved
from gradcheck.checks.mutation.smallest import smallest_errors
from gradcheck.checks.options import Settings, settings
from gradcheck.engines.core import Core
from gradcheck.language.loader import load
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from tests.from_text import problem_from
from tests.paths import CASES


def chosen(reference: str = "torch", rtol: float | None = None) -> Settings:
    return settings(["core"], reference, None, rtol, None, None, None, None)


def power(problem: Problem) -> Power:
    found = measure(problem, chosen())
    assert found is not None
    return found


def kinds(faults: tuple[Planted, ...]) -> set[str]:
    return {fault.kind for fault in faults}


CHAIN = """
    inputs: {x: "randn(3, 3)", w: "randn(3, 3)", b: "randn(3)"}
    graph:
      y: x @ w + b
      h: tanh(y) * y
      loss: h.mean()
    """


# The faults themselves -------------------------------------------------------------------------------


def faults_of(problem: Problem) -> dict[tuple[str, str], Fault]:
    witness = Witness()
    witness.evaluate(problem)
    found = [*rule_faults(list(witness.applied)), *sweep_faults(list(witness.reused))]
    return {(fault.kind, fault.where): fault for fault in found}


def gradients(problem: Problem, fault: Fault) -> dict[str, np.ndarray]:
    found = Faulty(fault).evaluate(problem).states[-1].gradients
    return {name: np.asarray(gradient) for name, gradient in found.items()}


def test_each_fault_does_what_it_says() -> None:
    """`y = x * row`, from a random incoming gradient; and x is used twice by the square."""
    p = problem_from(
        """
        inputs: {x: "randn(3, 3)", row: "randn(3)"}
        graph: {y: x * row, z: y * y}
        backward: {z: "randn_like(z)"}
        """
    )
    right = Core().evaluate(p).states[-1].gradients
    found = faults_of(p)
    dy, dx = np.asarray(right["y"]), np.asarray(right["x"])
    rule = "the rule of mul for 'other'"

    def row(kind: str) -> np.ndarray:
        return gradients(p, found[kind, rule])["row"]

    own = row("zero")  # y's own gradient is halved as well: half of it comes by this rule
    np.testing.assert_array_equal(own, np.zeros(3))
    reused = next(where for kind, where in found if kind == "a use lost")
    assert reused == "a result of mul of shape [3, 3], used 2 times"
    np.testing.assert_allclose(gradients(p, found["a use lost", reused])["y"], dy / 2)
    np.testing.assert_allclose(gradients(p, found["a use twice", reused])["y"], dy * 1.5)
    np.testing.assert_allclose(gradients(p, found["uses overwritten", reused])["y"], dy / 2)
    first = "the rule of mul for 'input'"
    wrong = gradients(p, found["negated", first])["x"]
    assert np.abs(wrong).max() < 1e-12  # half of y's gradient has the other sign, and cancels
    assert not np.allclose(gradients(p, found["transposed", first])["x"], dx)
    assert found.keys() >= {(kind, first) for kind in IN_RULES if kind != "mean for sum"}


def test_an_unreduced_broadcast_has_the_shape_of_the_result() -> None:
    p = problem_from("{inputs: {x: 'randn(2, 3)', row: 'randn(3)'}, graph: {y: x + row, loss: y.sum()}}")
    fault = faults_of(p)["broadcast not summed", "the rule of add for 'other'"]
    assert np.shape(gradients(p, fault)["row"]) == (2, 3)


def test_a_mean_for_a_sum() -> None:
    p = problem_from("{inputs: {x: 'randn(2, 3)'}, graph: {loss: x.sum()}}")
    fault = faults_of(p)["mean for sum", "the rule of sum for 'input'"]
    np.testing.assert_allclose(gradients(p, fault)["x"], np.full((2, 3), 1 / 6))


def test_one_element_off_is_one_element() -> None:
    p = problem_from("{inputs: {x: 'randn(5, 4)'}, graph: {y: x * 2}, backward: {y: 'randn(5, 4)'}}")
    fault = faults_of(p)["one element off", "the rule of mul for 'input'"]
    right = np.asarray(Core().evaluate(p).states[-1].gradients["x"])
    assert np.count_nonzero(gradients(p, fault)["x"] != right) == 1


def test_passes_that_overwrite() -> None:
    p = problem_from("{inputs: {x: [1, 2]}, graph: {y: (3 * x).sum()}, steps: [{backward: y}, {backward: y}]}")
    assert list(np.asarray(Core().evaluate(p).states[-1].gradients["x"])) == [6, 6]
    assert list(gradients(p, OVERWRITTEN)["x"]) == [3, 3]


def test_nothing_global_is_touched() -> None:
    p = problem_from(CHAIN)
    before = Core().evaluate(p).states[-1].gradients
    measure(p, chosen())
    after = Core().evaluate(p).states[-1].gradients
    for name, gradient in before.items():
        np.testing.assert_array_equal(np.asarray(gradient), np.asarray(after[name]))


# What is caught, and what is no fault ----------------------------------------------------------------


def test_all_faults_of_a_good_case_are_caught() -> None:
    found = power(problem_from(CHAIN))
    assert found.survivors == ()
    assert kinds(found.planted) >= {*IN_SWEEP, *(set(IN_RULES) - {"mean for sum"})}
    assert not found.is_vacuous
    assert found.equivalent > 0  # a sum's gradient is all alike: its transpose is no fault


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex128"])
def test_faults_are_as_large_as_the_dtype_can_show(dtype: str) -> None:
    found = power(
        problem_from(
            f"""
            dtype: {dtype}
            inputs: {{x: "randn(3, 3)", w: "randn(3, 3)"}}
            graph: {{y: (x @ w) * x}}
            backward: {{y: "randn(3, 3)"}}
            """
        )
    )
    assert found.survivors == ()
    assert len(found.planted) > 15


def test_what_changes_nothing_is_no_fault() -> None:
    """sign has a gradient of zeros, the outer product of a vector with itself is symmetric."""
    found = power(
        problem_from("{inputs: {x: 'randn(3)'}, graph: {y: 'outer(x, x)', s: sign(x), loss: (y * y).sum() + s.sum()}}")
    )
    assert found.survivors == ()
    assert not any("sign" in fault.where for fault in found.planted)


def test_numbers_that_hide_a_fault_let_it_survive() -> None:
    """The rule of tanh alone is always tried with a random incoming gradient; a lost use of zeros shows nowhere."""
    found = power(
        problem_from(
            """
            inputs: {x: [0, 0], c: [0, 0]}
            graph: {y: x * c, loss: (y + x * c).sum()}
            """
        )
    )
    assert {fault.kind for fault in found.survivors} >= {"a use lost", "a use twice", "uses overwritten"}
    assert all("a leaf" in fault.where for fault in found.survivors if fault.kind == "a use lost")


def test_a_case_that_would_catch_nothing_is_vacuous() -> None:
    found = power(problem_from("{inputs: {x: {values: [], shape: [0, 3]}}, graph: {loss: x.sum()}}"))
    assert found.is_vacuous
    assert found.to_json()["vacuous"]


def test_what_is_about_an_error_has_no_power_to_measure() -> None:
    p = problem_from("{inputs: {x: [1, 2]}, graph: {y: x * x}, steps: [{backward: y, raises: non_scalar_backward}]}")
    assert measure(p, chosen()) is None


# Formulas --------------------------------------------------------------------------------------------


def test_mistakes_in_formulas_are_caught() -> None:
    found = power(
        problem_from(
            """
            dims: {n: 2, m: 3, k: 4}
            inputs: {x: "randn(n, m)", w: "randn(m, k)"}
            graph: {y: x @ w, loss: (y * y).sum()}
            formulas:
              w: x.T @ grad(y)
              x: 2 * (x @ w) @ w.T
            """
        )
    )
    assert found.survivors == ()
    assert {"a transpose removed", "factors exchanged", "a sign", "a factor of 2", "div for mul"} <= kinds(
        found.planted
    )


def test_a_mistake_that_one_point_cannot_tell_is_refuted_by_proof_where_that_is_possible() -> None:
    """At 1, any power will do, and nothing is drawn afresh."""
    found = power(problem_from("{inputs: {x: 1}, graph: {y: x ** 3}, formulas: {x: 3 * x ** 2}}"))
    assert found.survivors == ()
    assert {fault.kind for fault in found.planted if fault.caught_by == "proof"} == {"another power", "div for mul"}


def test_a_mistake_that_neither_one_point_nor_a_proof_can_tell_survives() -> None:
    found = power(
        problem_from(
            "{inputs: {x: 1}, graph: {y: erf(x) + x ** 3}, formulas: {x: '3 * x ** 2 + 2 * exp(-x * x) / pi ** 0.5'}}"
        )
    )
    assert {fault.kind for fault in found.survivors} >= {"another power"}


def test_mistakes_in_steps_count_too() -> None:
    found = power(
        problem_from(
            """
            dims: {n: 2, m: 3}
            inputs: {x: "randn(n, m)", w: "randn(m, n)"}
            graph: {y: x @ w, loss: (y * y).sum()}
            let: {g: 2 * x @ w, idle: x + 1}
            formulas: {w: x.T @ g}
            """
        )
    )
    assert found.survivors == ()
    assert any(fault.where.startswith("the step g: ") for fault in found.planted)
    assert not any(fault.where.startswith("the step idle: ") for fault in found.planted)


def test_a_mistake_that_changes_no_number_is_none() -> None:
    found = power(problem_from("{inputs: {x: 'randn(3)'}, graph: {y: (x * x).sum()}, formulas: {x: 'x + (x.T).T'}}"))
    assert not any("transpose" in fault.kind for fault in found.survivors)


# The smallest error that is seen ---------------------------------------------------------------------


@pytest.mark.parametrize("rtol", [None, 1e-6])
def test_the_smallest_error_is_where_a_comparison_turns(rtol: float | None) -> None:
    p = problem_from(CHAIN)
    scene = Scene(p, chosen(rtol=rtol))
    smallest = smallest_errors(scene, chosen(rtol=rtol))
    assert set(smallest) == {"x", "w", "b", "y", "h", "loss"}
    for name, error in smallest.items():
        want = np.asarray(scene.want.states[-1].gradients[name])
        slack = scene.noise.slack("gradient", 0, name)
        index = np.unravel_index(np.argmax(np.abs(want)), want.shape)
        for factor, status in ((1.02, "failed"), (0.98, "passed")):
            wrong = want.copy()
            wrong[index] *= 1 + factor * error
            found = compare(wrong, want, Limits(rtol or 1e-10, 1e-10), slack=slack, what="gradient", tensor=name)
            assert found.status == status, (name, factor)


def test_a_gradient_of_zeros_shows_any_error() -> None:
    p = problem_from("{inputs: {x: [0, 0], y: [1, 2]}, graph: {loss: (x * y).sum()}}")
    assert smallest_errors(Scene(p, chosen()), chosen())["y"] == 0.0


def test_points_elsewhere_keep_what_is_made_as_it_is() -> None:
    p = problem_from(
        """
        inputs: {a: "randn(3, 3)", s: a @ a.T, x: [[1, 0], [-2, 3]]}
        graph: {y: (s @ s).sum() + x.sum() + a.sum()}
        """
    )
    other = moved(p, np.random.default_rng(0))
    np.testing.assert_array_equal(other.inputs["s"], other.inputs["s"].T)
    assert (np.sign(other.inputs["x"][[0, 1, 1], [0, 0, 1]]) == [1, -1, 1]).all()
    assert not (other.inputs["x"] == p.inputs["x"]).any()


# The shipped cases -----------------------------------------------------------------------------------

SAMPLE = ["matmul/chain-of-four.yaml", "reuse/one-child.yaml", "nn/softmax.yaml", "broadcasting/rules.yaml",
          "steps/accumulation.yaml", "dtypes/precisions.yaml"]  # fmt: skip


@pytest.mark.parametrize("file", SAMPLE)
def test_shipped_cases_catch_every_planted_fault(file: str) -> None:
    """A sample; `python -m benchmarks power` tries them all."""
    for case in load([CASES / file]).cases:
        found = measure(draw(case), chosen())
        assert found is None or (found.survivors == () and (found.planted or "nothing" in case.description)), case.id
