"""Values and derivatives in high precision, where double precision has lost its own."""

from __future__ import annotations

import contextlib
import math

import mpmath
import numpy as np
import pytest

from gradcheck.autograd.modes import quiet
from gradcheck.autograd.op import lookup, whole_table
from gradcheck.errors import GradcheckError
from gradcheck.oracles.numeric.high_precision import apply_op, floats, reals
from gradcheck.oracles.numeric.numeric_gradient import NumericGradient, numeric_gradient
from gradcheck.oracles.numeric.objective import precise_value
from tests.from_text import problem_from


def gradient(graph: str, x: str) -> NumericGradient:
    return numeric_gradient(problem_from(f"inputs: {{x: {x}}}\ngraph: {{z: '{graph}'}}"), "x", 0)


def sides(graph: str, x: str, element: int = 0) -> tuple[float, float]:
    (derivative,) = gradient(graph, x)._derivatives
    direction = np.zeros(derivative.objective.point.shape)
    direction.flat[element] = 1.0
    return derivative.precise_sides(direction)


@pytest.mark.parametrize(
    ("graph", "x", "right"),
    [
        ("log(1 - sigmoid(x)).sum()", "[40, 1]", -1.0),
        ("binary_cross_entropy_with_logits(x, tensor([1.0, 1.0])) * 2", "[78, 0]", -1.0 / (1 + math.exp(78))),
        ("log(cosh(x)).sum()", "[1e-12, 3]", 1e-12),
        ("(expm1(x) - x).sum()", "[1e-9, 3]", 1.0000000005e-9),
        ("erfc(x).sum()", "[12, 1]", -2 / math.sqrt(math.pi) * math.exp(-144)),
        ("digamma(x).sum()", "[1.5, 1]", float(mpmath.psi(1, 1.5))),
        ("(x ** 3).sum()", "[0, 1]", 0.0),
    ],
)  # fmt: skip
def test_the_derivative_is_exact_from_both_sides(graph: str, x: str, right: float) -> None:
    assert sides(graph, x) == pytest.approx((right, right), rel=1e-14, abs=0)


def test_one_side_at_a_time_is_seen() -> None:
    assert sides("relu(x).sum()", "[0, 1]") == (0.0, 1.0)
    left, right = sides("where(x > 0, sqrt(x), 0).sum()", "[0, 1]")
    assert (left, math.isnan(right)) == (0.0, True)


def test_what_has_no_forward_in_high_precision_is_refused() -> None:
    with pytest.raises(GradcheckError, match=r"linalg\.inv has no forward in high precision"):
        sides("linalg.inv(x).sum()", "[[1, 2], [3, 5]]")


def test_claims_that_are_close_are_decided_in_high_precision() -> None:
    """A complex step repeats the rounding of 1 - sigmoid(33), which leaves it three digits."""
    oracle, one, other = gradient("log(1 - sigmoid(x)).sum()", "[33, 1]"), np.array([-1.0]), np.array([-0.99913])
    assert oracle.partials([0]).value[0] == pytest.approx(other[0], rel=1e-5)
    found = oracle.deciding_partials([0], one, other)
    assert (found.method, found.value[0]) == ("high precision", pytest.approx(-1.0, rel=1e-14))
    assert found.error[0] < 1e-14
    assert oracle.deciding_partials([0], one, -one).method == "complex step"


def test_values_are_rounded_once() -> None:
    problem = problem_from("inputs: {x: [1.4616321449683622]}\ngraph: {y: digamma(x)}")
    with mpmath.workdps(50):
        assert precise_value(problem, "y", 0).tolist() == [float(mpmath.psi(0, mpmath.mpf(1.4616321449683622)))]


def test_numbers_behave_as_floats_do() -> None:
    numbers = reals(np.array([[1.5, -2.0], [0.0, 4.0]]))
    assert floats(numbers @ numbers).tolist() == [[2.25, -11.0], [0.0, 16.0]]
    assert floats(np.sqrt(numbers))[1].tolist() == [0.0, 2.0]
    assert np.isnan(floats(np.sqrt(numbers))[0, 1])
    assert np.isnan(floats(1 / numbers)[1, 0])
    assert np.isnan(floats(numbers**0.5)[0, 1])


def test_no_forward_rounds_them_unseen() -> None:
    with pytest.raises(TypeError):
        reals(np.ones(3)).astype(np.float64)


@pytest.mark.parametrize("graph", ["sin(exp(x)).sum()", "exp(exp(exp(x))).sum()", "fmod(exp(x), x).sum()"])
def test_numbers_with_millions_of_digits_are_refused(graph: str) -> None:
    """Their digits would fill the memory, or take minutes."""
    with pytest.raises(GradcheckError, match="a function of a huge number"):
        sides(graph, "[1e6, 1]")


def test_slow_functions_take_few_numbers() -> None:
    assert sides("digamma(x).sum()", str([1.5] * 16))[0] == pytest.approx(float(mpmath.psi(1, 1.5)))
    with pytest.raises(GradcheckError, match="psi of many numbers in high precision"):
        sides("digamma(x).sum()", str([1.5] * 17))


@pytest.mark.parametrize("graph", ["polygamma(2, x * -1e15).sum()", "polygamma(3000000, x).sum()"])
def test_a_polygamma_of_a_million_terms_is_refused(graph: str) -> None:
    with pytest.raises(GradcheckError, match="polygamma of so high an order"):
        precise_value(problem_from(f"inputs: {{x: [1.5, 1]}}\ngraph: {{y: '{graph}'}}"), "y", 0)


def test_the_remainder_by_zero_is_nan() -> None:
    assert np.isnan(floats(apply_op(lookup("fmod"), [reals(np.ones(1)), reals(np.zeros(1))])))[0]


_DRAWN = np.random.default_rng(0).uniform(-5, 5, (2, 3, 3))
_ONE = _DRAWN[:1]
_NO_FORWARD = (TypeError, ValueError, AttributeError, IndexError, np.linalg.LinAlgError)
_KINDS = {"unit": abs(_ONE) / 5, "large": abs(_ONE) + 1, "any sign": _ONE, "two": _DRAWN, "positive": abs(_DRAWN)}


@pytest.mark.parametrize("kind", _KINDS)
def test_every_op_gives_what_it_gives_for_floats_or_refuses(kind: str) -> None:
    """Floors were left as they were, and the remainder had another sign."""
    computed = 0
    for op in whole_table().values():
        with contextlib.suppress(GradcheckError, *_NO_FORWARD), quiet():
            want = op.forward(*_KINDS[kind])
            got = apply_op(op, [reals(array) for array in _KINDS[kind]])
            for one, other in zip(*(made if isinstance(made, tuple) else (made,) for made in (want, got)), strict=True):
                number = floats(other) if other.dtype.kind == "O" else other
                assert (np.asarray(one).dtype.kind == "b") == (other.dtype.kind == "b"), op.name
                assert np.allclose(one, number, rtol=1e-9, atol=0, equal_nan=True), op.name
                computed += 1
    assert computed > 60


def test_a_value_with_a_pole_on_the_way_is_refused() -> None:
    problem = problem_from("inputs: {x: [0, 1]}\ngraph: {y: atan(1 / x)}")
    with pytest.raises(GradcheckError, match="y has a pole on the way"):
        precise_value(problem, "y", 0)


def test_no_definition_is_wider_than_the_function() -> None:
    assert np.isnan(sides("special.entr(x).sum()", "[-1, 2]")).all()
    assert sides("xlogy(x, tensor([3.0, 2.0])).sum()", "[0, 1]")[1] == pytest.approx(math.log(3.0))
