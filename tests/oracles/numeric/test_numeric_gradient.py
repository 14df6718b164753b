"""Numeric gradients of cases as they are written, and how many elements a budget allows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.engines.core import Core
from gradcheck.errors import Unsupported
from gradcheck.facts import fact
from gradcheck.language.loader import load
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw, literal_problem
from gradcheck.oracles.numeric.finite_differences import Estimate
from gradcheck.oracles.numeric.numeric_gradient import (
    DIRECTIONS,
    NumericGradient,
    audit,
    is_between_sides,
    is_refuted,
    numeric_gradient,
)
from gradcheck.oracles.numeric.objective import OpObjective
from gradcheck.oracles.numeric.work_budget import WorkBudget

Make = Callable[[str], Problem]


@pytest.fixture
def problem(tmp_path: Path) -> Make:
    """A case given as text, with concrete arrays."""

    def make(text: str) -> Problem:
        file = tmp_path / "case.yaml"
        file.write_text(dedent(text), encoding="utf-8")
        (case,) = load([file]).cases
        return draw(case)

    return make


def oracle(text: str, tensor: str, make: Make) -> np.ndarray:
    """The oracle's gradient, known to be as good as it says."""
    made = make(text)
    step = len(made.case.steps) - 1
    want = Core().evaluate(made).states[step].gradients[tensor]
    assert want is not None
    estimate = numeric_gradient(made, tensor, step).partials(range(want.size))
    assert np.all(np.abs(estimate.value - want.ravel()) <= estimate.error + 1e-12 * np.abs(want).max())
    assert np.all(estimate.error <= 1e-9 * np.abs(want).max())
    return estimate.value.reshape(want.shape)


# Cases ---------------------------------------------------------------------------------------------


def test_leaves_and_intermediates(problem: Make) -> None:
    text = """
        inputs: {x: "randn(2, 3)", w: "randn(3, 4)"}
        graph: {y: x @ w, h: relu(y), loss: (h * h).sum()}
    """
    for tensor in ("x", "w", "y", "h"):
        oracle(text, tensor, problem)
    np.testing.assert_allclose(oracle(text, "loss", problem), 1.0)


def test_passes_add_up_until_they_are_forgotten(problem: Make) -> None:
    text = """
        inputs: {x: [1, 2]}
        graph: {z: x ** 3}
        steps:
          - backward: {z: [5, 7]}
          - zero_grad: x
          - backward: {z: [1, 1]}
          - forward: {x: [2, 3]}
          - backward: {z: [1, 2]}
    """
    np.testing.assert_allclose(oracle(text, "x", problem), [3 + 12, 12 + 54])


def test_a_failing_step_adds_nothing(problem: Make) -> None:
    text = """
        inputs: {x: [1, 2]}
        graph: {z: x * x}
        steps:
          - {backward: z, raises: non_scalar_backward}
          - backward: {z: [1, 1]}
    """
    np.testing.assert_allclose(oracle(text, "x", problem), [2, 4])


@pytest.mark.parametrize("step", ["exp(x)", "x.abs().exp()"], ids=["complex step", "differences"])
def test_what_is_detached_does_not_move(problem: Make, step: str) -> None:
    text = f"{{inputs: {{x: [1, 2]}}, graph: {{y: {step}, loss: (detach(y) * x + y).sum()}}}}"
    np.testing.assert_allclose(oracle(text, "x", problem), 2 * np.exp([1, 2]))


def test_parts_of_several_outputs(problem: Make) -> None:
    text = "{inputs: {x: [[1, 5], [4, 2]]}, graph: {m: 'max(x, 1)', loss: '(m[0] ** 2).sum()'}}"
    np.testing.assert_allclose(oracle(text, "x", problem), [[0, 10], [8, 0]])
    np.testing.assert_allclose(oracle(text, "m[0]", problem), [10, 8])


def test_complex_gradients_are_torch_s(problem: Make) -> None:
    text = """
        dtype: complex128
        inputs: {z: ["1+2j", "-0.5+0.25j"]}
        graph: {y: z * z.abs(), loss: (y.real + 2 * y.imag).sum()}
    """
    assert np.iscomplexobj(oracle(text, "z", problem))


def test_running_statistics_stay_as_they_are(problem: Make) -> None:
    text = """
        inputs: {x: "randn(4, 2)"}
        constants: {mean: [0.0, 0.0], var: [1.0, 1.0], c: "randn(4, 2)"}
        graph: {y: "F.batch_norm(x, mean, var, training=True)", loss: (y * c).sum()}
    """
    made = problem(text)
    numeric_gradient(made, "x", 0).partials([0])
    assert np.array_equal(made.constants["mean"], [0, 0])


def test_drawn_numbers_and_tensors_without_a_pass_are_refused(problem: Make) -> None:
    made = problem("{inputs: {x: [1, 2]}, graph: {z: x * x}, steps: [{backward: {z: [1, 1]}}, {zero_grad: x}]}")
    with pytest.raises(Unsupported, match="no backward pass has reached x"):
        numeric_gradient(made, "x", 1)


def test_tiny_and_huge_inputs_choose_their_own_steps(problem: Make) -> None:
    for values in ("[1e-300, 1e-8, 1.0]", "[1e8, 3e8, 1e12]"):
        oracle(f"{{inputs: {{x: {values}}}, graph: {{loss: log(x).sum()}}}}", "x", problem)
        oracle(f"{{inputs: {{x: {values}}}, graph: {{y: log(x).abs(), loss: y.sum()}}}}", "x", problem)


# One op alone --------------------------------------------------------------------------------------


def of_op(name: str, x: np.ndarray) -> NumericGradient:
    return NumericGradient([OpObjective(x, lambda value: TABLE[name](value), [np.ones(x.shape)])])


def test_once_it_is_differences_it_stays_so() -> None:
    gradient = of_op("abs", np.array([1.0, -2.0]))
    assert gradient.method == "complex step"
    estimate = gradient.partials([0, 1])
    assert gradient.method == estimate.method == "differences"
    assert estimate.no_complex_step_reason == fact("no_complex_step", message="abs is not analytic")
    np.testing.assert_allclose(estimate.value, [1, -1])


def test_objectives_add_up() -> None:
    objectives = [OpObjective(np.array([2.0]), lambda value: TABLE["square"](value), [np.ones(1)])] * 3
    assert NumericGradient(objectives).partials([0]).value == pytest.approx(12)


def test_a_kink_in_one_of_several() -> None:
    x = np.zeros(1)
    smooth = OpObjective(x, lambda value: TABLE["sin"](value), [np.ones(1)])
    kink = OpObjective(x, lambda value: TABLE["abs"](value), [np.ones(1)])
    estimate = NumericGradient([smooth, kink]).partials([0])
    assert estimate.kinked.tolist() == [True]
    assert (estimate.left[0], estimate.right[0]) == pytest.approx((0, 2), abs=1e-6)


@pytest.mark.parametrize("name", ["exp", "abs"])
def test_a_budget_counts_elements(name: str) -> None:
    """As many as it pays for, the last one perhaps in part; one in any case; and never by the time that they take."""
    gradient = of_op(name, np.arange(1.0, 9.0))
    spent = WorkBudget(10**12)
    assert len(gradient.partials([0], spent).value) == 1
    cost = 10**12 - spent.left
    assert cost > 0
    for budget, elements in ((0, 1), (1, 1), (cost, 1), (cost + 1, 2), (5 * cost, 5), (100 * cost, 8)):
        assert len(gradient.partials(range(8), WorkBudget(budget)).value) == elements


def test_directions_have_signs_and_a_length_of_about_one() -> None:
    gradient = of_op("exp", np.ones((5, 7)))
    found = list(gradient.random_directions(3))
    assert all(np.all(np.abs(d) == np.abs(d[0, 0])) and d.shape == (5, 7) for d in found)
    assert all(0.5 < np.linalg.norm(d) < 2 for d in found)
    assert not np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], next(gradient.random_directions(1)))
    complex_ones = next(of_op("exp", np.ones(64) + 0j).random_directions(1))
    assert set(np.abs(complex_ones.real)) == set(np.abs(complex_ones.imag)) == {2.0**-3}


def squares(size: int, analytic: bool) -> tuple[NumericGradient, np.ndarray]:
    """The sum of squares of random numbers, and its gradient."""
    x = np.random.default_rng(0).standard_normal(size)

    def call(value: object) -> object:
        return TABLE["square"](value if analytic else TABLE["abs"](value))

    return NumericGradient([OpObjective(x, call, [np.ones(size)])]), 2 * x


@pytest.mark.parametrize("analytic", [True, False])
@pytest.mark.parametrize("size", [5, 3000])
def test_a_right_gradient_passes_in_full_or_along_directions(size: int, analytic: bool) -> None:
    gradient, right = squares(size, analytic)
    found = audit(gradient, right, np.full(size, 1e-10))
    assert found.status == "passed"
    assert (found.sampled, found.examined) == ((False, 5) if size == 5 else (True, DIRECTIONS))


@pytest.mark.parametrize("analytic", [True, False])
@pytest.mark.parametrize("size", [5, 3000])
@pytest.mark.parametrize("factor", [1.001, 1 + 1e-6, -1.0, 0.0])
def test_one_wrong_element_is_found(size: int, analytic: bool, factor: float) -> None:
    gradient, claimed = squares(size, analytic)
    at = int(np.argmax(np.abs(claimed)))
    claimed[at] *= factor
    found = audit(gradient, claimed, 1e-10 * np.abs(claimed).max() + np.zeros(size))
    assert (found.status, found.worst) == ("failed", at)
    assert found.value == pytest.approx(claimed[at] / factor if factor else found.value)


def test_a_bar_wider_than_what_is_allowed_is_undecided() -> None:
    x = np.array([1.0])
    generator = np.random.default_rng(0)

    def noisy(value: object) -> object:
        return TABLE["abs"](value) + 1e-6 * float(generator.standard_normal())

    gradient = NumericGradient([OpObjective(x, noisy, [np.ones(1)])])
    assert audit(gradient, np.array([1.0]), np.array([1e-12])).status == "undecided"
    assert audit(gradient, np.array([1.5]), np.array([1e-12])).status == "failed"


def test_no_elements_pass() -> None:
    gradient, _ = squares(5, True)
    assert audit(gradient, np.zeros(0), np.zeros(0)).status == "passed"


def test_an_infinite_slope_is_no_number() -> None:
    """The derivative of the square root at 0: no claim of infinity is refuted."""
    gradient = NumericGradient([OpObjective(np.zeros(1), lambda value: TABLE["sqrt"](value), [np.ones(1)])])
    assert audit(gradient, np.array([np.inf]), np.array([1e-10])).status != "failed"


def estimate(left: list[float], right: list[float], error: float = 0.0) -> Estimate:
    """Of derivatives that differ from left to right where there is a kink."""
    sides = np.array(left), np.array(right)
    value, kinked = (sides[0] + sides[1]) / 2, sides[0] != sides[1]
    return Estimate(value, np.full(len(left), error), *sides, kinked, "differences")


def test_subgradients_are_within() -> None:
    at_kinks = estimate([-1.0, 1.0, 0.0], [1.0, -1.0, 2.0])
    for claimed, inside in (([0.5, -1.0, 0.0], [True] * 3), ([1.1, -1.1, 2.1], [False] * 3)):
        assert is_between_sides(at_kinks, np.array(claimed), np.zeros(3)).tolist() == inside
        assert is_refuted(at_kinks, np.array(claimed), np.zeros(3)).tolist() == [not one for one in inside]


def test_the_error_bar_and_what_is_allowed_add_up() -> None:
    smooth = estimate([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], error=0.25)
    claimed = np.array([1.3, 1.4, np.nan])
    assert is_refuted(smooth, claimed, np.full(3, 0.1)).tolist() == [False, True, False]
    known = estimate([1.0], [1.0], error=1e-4)
    assert is_refuted(known, np.array([np.inf]), np.array([0.1])).tolist() == [True]


@pytest.mark.parametrize("graph", ["relu(x)", "clamp(x, -0.1, 0.1)", "maximum(x, 0 * x + 0.2)", "where(x > 0, x, 0)"])
def test_where_nothing_changes_the_gradient_is_zero(graph: str) -> None:
    incoming = {"y": [1.0, -2.0, 3.0, 0.5]}
    problem = literal_problem("own", {"x": [1.5, -2, 0.5, -0.25]}, {"y": graph}, incoming)
    claimed = Core().evaluate(problem).states[0].gradients["x"]
    assert claimed is not None
    assert not claimed.all()
    oracle = numeric_gradient(problem, "x", 0)
    assert audit(oracle, claimed, 1e-10 * np.abs(claimed)).status == "passed"
    assert audit(oracle, claimed + 1e-12 * (claimed == 0), 1e-10 * np.abs(claimed)).status == "failed"
