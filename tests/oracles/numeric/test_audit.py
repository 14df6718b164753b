"""The numeric oracle on cases as they are written, and claimed gradients audited in full and along directions."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.engines.core import Core
from gradcheck.errors import Unsupported
from gradcheck.oracles.numeric.audit import DIRECTIONS, audit
from gradcheck.oracles.numeric.derivative import Numeric, of_tensor
from gradcheck.oracles.numeric.objective import Alone
from tests.from_text import problem_from


def oracle(text: str, tensor: str) -> np.ndarray:
    """The oracle's gradient, known to be as good as it says."""
    made = problem_from(text)
    step = len(made.case.steps) - 1
    want = Core().evaluate(made).states[step].gradients[tensor]
    assert want is not None
    estimate = of_tensor(made, tensor, step).partials(range(want.size))
    assert np.all(np.abs(estimate.value - want.ravel()) <= estimate.error + 1e-12 * np.abs(want).max())
    assert np.all(estimate.error <= 1e-9 * np.abs(want).max())
    return estimate.value.reshape(want.shape)


# Cases ---------------------------------------------------------------------------------------------


def test_leaves_and_intermediates() -> None:
    text = """
        inputs: {x: "randn(2, 3)", w: "randn(3, 4)"}
        graph: {y: x @ w, h: relu(y), loss: (h * h).sum()}
    """
    for tensor in ("x", "w", "y", "h"):
        oracle(text, tensor)
    np.testing.assert_allclose(oracle(text, "loss"), 1.0)


def test_passes_add_up_until_they_are_forgotten() -> None:
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
    np.testing.assert_allclose(oracle(text, "x"), [3 + 12, 12 + 54])


def test_a_failing_step_adds_nothing() -> None:
    text = """
        inputs: {x: [1, 2]}
        graph: {z: x * x}
        steps:
          - {backward: z, raises: non_scalar_backward}
          - backward: {z: [1, 1]}
    """
    np.testing.assert_allclose(oracle(text, "x"), [2, 4])


@pytest.mark.parametrize("step", ["exp(x)", "x.abs().exp()"], ids=["complex step", "differences"])
def test_what_is_detached_does_not_move(step: str) -> None:
    text = f"{{inputs: {{x: [1, 2]}}, graph: {{y: {step}, loss: (detach(y) * x + y).sum()}}}}"
    np.testing.assert_allclose(oracle(text, "x"), 2 * np.exp([1, 2]))


def test_parts_of_several_outputs() -> None:
    text = "{inputs: {x: [[1, 5], [4, 2]]}, graph: {m: 'max(x, 1)', loss: '(m[0] ** 2).sum()'}}"
    np.testing.assert_allclose(oracle(text, "x"), [[0, 10], [8, 0]])
    np.testing.assert_allclose(oracle(text, "m[0]"), [10, 8])


def test_complex_gradients_are_torch_s() -> None:
    text = """
        dtype: complex128
        inputs: {z: ["1+2j", "-0.5+0.25j"]}
        graph: {y: z * z.abs(), loss: (y.real + 2 * y.imag).sum()}
    """
    assert np.iscomplexobj(oracle(text, "z"))


def test_running_statistics_stay_as_they_are() -> None:
    text = """
        inputs: {x: "randn(4, 2)"}
        constants: {mean: [0.0, 0.0], var: [1.0, 1.0], c: "randn(4, 2)"}
        graph: {y: "F.batch_norm(x, mean, var, training=True)", loss: (y * c).sum()}
    """
    made = problem_from(text)
    of_tensor(made, "x", 0).partials([0])
    assert np.array_equal(made.constants["mean"], [0, 0])


def test_drawn_numbers_and_tensors_without_a_pass_are_refused() -> None:
    made = problem_from("{inputs: {x: [1, 2]}, graph: {z: x * x}, steps: [{backward: {z: [1, 1]}}, {zero_grad: x}]}")
    with pytest.raises(Unsupported, match="no backward pass has reached x"):
        of_tensor(made, "x", 1)


def test_tiny_and_huge_inputs_choose_their_own_steps() -> None:
    for values in ("[1e-300, 1e-8, 1.0]", "[1e8, 3e8, 1e12]"):
        oracle(f"{{inputs: {{x: {values}}}, graph: {{loss: log(x).sum()}}}}", "x")
        oracle(f"{{inputs: {{x: {values}}}, graph: {{y: log(x).abs(), loss: y.sum()}}}}", "x")


# Audits --------------------------------------------------------------------------------------------


def squares(size: int, analytic: bool) -> tuple[Numeric, np.ndarray]:
    """The sum of squares of random numbers, and its gradient."""
    x = np.random.default_rng(0).standard_normal(size)

    def call(value: object) -> object:
        from gradcheck.autograd.op import TABLE

        return TABLE["square"](value if analytic else TABLE["abs"](value))

    return Numeric([Alone(x, call, [np.ones(size)])]), 2 * x


@pytest.mark.parametrize("analytic", [True, False])
@pytest.mark.parametrize("size", [5, 3000])
def test_a_right_gradient_passes_in_full_or_along_directions(size: int, analytic: bool) -> None:
    numeric, right = squares(size, analytic)
    found = audit(numeric, right, np.full(size, 1e-10))
    assert found.status == "passed"
    assert (found.sampled, found.examined) == ((False, 5) if size == 5 else (True, DIRECTIONS))


@pytest.mark.parametrize("analytic", [True, False])
@pytest.mark.parametrize("size", [5, 3000])
@pytest.mark.parametrize("factor", [1.001, 1 + 1e-6, -1.0, 0.0])
def test_one_wrong_element_is_found(size: int, analytic: bool, factor: float) -> None:
    numeric, claimed = squares(size, analytic)
    at = int(np.argmax(np.abs(claimed)))
    claimed[at] *= factor
    found = audit(numeric, claimed, 1e-10 * np.abs(claimed).max() + np.zeros(size))
    assert (found.status, found.worst) == ("failed", at)
    assert found.value == pytest.approx(claimed[at] / factor if factor else found.value)


def test_a_bar_wider_than_what_is_allowed_is_undecided() -> None:
    x = np.array([1.0])
    generator = np.random.default_rng(0)

    def noisy(value: object) -> object:
        from gradcheck.autograd.op import TABLE

        return TABLE["abs"](value) + 1e-6 * float(generator.standard_normal())

    numeric = Numeric([Alone(x, noisy, [np.ones(1)])])
    assert audit(numeric, np.array([1.0]), np.array([1e-12])).status == "undecided"
    assert audit(numeric, np.array([1.5]), np.array([1e-12])).status == "failed"


def test_no_elements_pass() -> None:
    numeric, _ = squares(5, True)
    assert audit(numeric, np.zeros(0), np.zeros(0)).status == "passed"


def test_an_infinite_slope_is_no_number() -> None:
    """The derivative of the square root at 0: no claim of infinity is refuted."""
    from gradcheck.autograd.op import TABLE

    numeric = Numeric([Alone(np.zeros(1), lambda value: TABLE["sqrt"](value), [np.ones(1)])])
    assert audit(numeric, np.array([np.inf]), np.array([1e-10])).status != "failed"
