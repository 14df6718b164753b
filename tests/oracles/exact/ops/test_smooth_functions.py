"""What the exact oracle knows of smooth functions, and what it does not."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import Unsupported
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from gradcheck.oracles.exact import modular_arithmetic
from gradcheck.oracles.exact.dual_numbers import Dual, lift
from gradcheck.oracles.exact.field_point import FieldPoint
from gradcheck.oracles.exact.ops.smooth_functions import define_exponential, exp, integer_power, log
from tests.oracles.exact.calls import PRIME
from tests.oracles.exact.identities import assert_different, assert_identity, both, names


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("exp(x) * exp(-x)", "ones(5)"),
        ("exp(0 * x)", "ones(5)"),
        ("exp(log(x))", "x"),
        ("expm1(x) + 1", "exp(x)"),
        ("log1p(x)", "log(1 + x)"),
        ("exp2(x)", "2 ** x"),
        ("log2(x) * 0.6931471805599453", "log(x)"),
        ("log10(x) * 2.302585092994046", "log(x)"),
        ("logaddexp(x, y)", "log(exp(x) + exp(y))"),
        ("logaddexp(x, y) - x", "log1p(exp(y - x)) + 0 * x + logaddexp(x, y) - x - log1p(exp(y - x))"),
    ],
)
def test_what_is_known(left: str, right: str) -> None:
    assert_identity(left, right)


@pytest.mark.parametrize(
    ("left", "right"), [("exp(x + y)", "exp(x) * exp(y)"), ("log(x * y)", "log(x) + log(y)"), ("exp(x)", "exp(2 * x)")]
)
def test_what_is_not(left: str, right: str) -> None:
    assert_different(left, right)


def test_what_was_asked_for_is_noted() -> None:
    scope = names()
    evaluate(parse("exp(x) + sin(log(y))"), scope)
    assert scope["x"].point.uninterpreted == {"exp", "tan(x / 2)", "log"}
    assert scope["x"].point.nested


def test_exponentials() -> None:
    x = names()["x"]
    e = exp(x)
    assert np.array_equal(exp(-x).value, modular_arithmetic.inverse(e.value, PRIME))
    assert np.array_equal(e.tangent, e.value * x.tangent % PRIME)
    assert exp(lift(x.point, 0)).value == 1
    assert np.array_equal(exp(log(x)).value, x.value)


def test_an_exponential_that_is_defined() -> None:
    scope = names()
    x, y = scope["x"], scope["y"]
    define_exponential(x, y)
    assert np.array_equal(exp(x).value, y.value)


def test_the_exponential_of_minus_infinity_is_0() -> None:
    x = names()["x"]
    endless = Dual(x.point, np.array([x.point.infinity(-1), 3]))
    assert exp(endless).value[0] == 0
    assert exp(endless).value[1] != 0


# Roots and powers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("sqrt(x) * rsqrt(x)", "ones(5)"),
        ("x ** 0.5", "sqrt(x)"),
        ("x ** -2 * x * x", "ones(5)"),
        ("x ** 0 + 0 * x", "ones(5)"),
    ],
)
def test_what_is_known_of_roots_and_powers(left: str, right: str) -> None:
    assert_identity(left, right)


@pytest.mark.parametrize(
    ("left", "right"), [("x ** 1.5", "x * sqrt(x)"), ("x ** -0.5", "1 / sqrt(x)"), ("x ** 1.7 / x", "x ** 0.7")]
)
def test_slopes_in_a_form_of_their_own(left: str, right: str) -> None:
    assert_identity(left, right, tangents=False)


def test_squares_of_roots_where_they_are_kept() -> None:
    for keeps in (False, True):
        scope = names(keeps)
        for left, right in (("square(sqrt(x))", "x"), ("sqrt(x) ** 4", "x * x")):
            value, tangent, other, its_tangent = both(left, right, scope)
            assert np.array_equal(value, other) == keeps
            assert np.array_equal(tangent, its_tangent) or not keeps
        rsqrt, _, x, _ = both("rsqrt(x) ** -2", "x", scope)
        assert np.array_equal(rsqrt, x) == keeps


def test_the_derivative_of_a_square_of_a_root() -> None:
    """2 y dy with dy = dx / (2 y) is dx, whatever y is."""
    _, tangent, _, its_tangent = both("sqrt(x) ** 2", "x", names())
    assert np.array_equal(tangent, its_tangent)


def test_integer_powers_are_exact() -> None:
    x = Dual(FieldPoint(PRIME, 1), np.arange(1, 6), np.ones(5, dtype=np.int64))
    for exponent in (1, 2, 3, 10, -1, -3):
        power = integer_power(x, exponent)
        assert power.value.tolist() == [pow(n, exponent, PRIME) for n in range(1, 6)]
        assert power.tangent is not None
        assert power.tangent.tolist() == [exponent * pow(n, exponent - 1, PRIME) % PRIME for n in range(1, 6)]


def test_powers_with_tensors_of_integers() -> None:
    powers = "cat([x[:1] ** 0, x[1:2], x[2:3] ** 2, x[3:4] ** 3, 1 / x[4:]])"
    value, tangent, other, its_tangent = both("x ** tensor([0, 1, 2, 3, -1])", powers, names())
    assert np.array_equal(value, other)
    assert np.array_equal(tangent, its_tangent)


@pytest.mark.parametrize("text", ["0.0 ** x", "(-2.0) ** x"])
def test_bases_without_a_logarithm_are_refused(text: str) -> None:
    with pytest.raises(Unsupported):
        evaluate(parse(text), names())


def test_other_powers_are_different_functions() -> None:
    assert_different("x ** 1.7", "x ** 1.8")
    assert TABLE["pow"](names()["x"], 1.7).point.uninterpreted >= {"pow"}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("sin(x) ** 2 + cos(x) ** 2", "ones(5)"),
        ("tan(x)", "sin(x) / cos(x)"),
        ("sin(-x)", "-sin(x)"),
        ("deg2rad(x)", "x * 0.017453292519943295"),
        ("rad2deg(x)", "x * 57.29577951308232"),
        ("cos(-x)", "cos(x)"),
        ("sinc(x) * x * 3.141592653589793", "sin(3.141592653589793 * x)"),
        ("atan(-x)", "-atan(x)"),
        ("asin(-x)", "-asin(x)"),
        ("asinh(-x)", "-asinh(x)"),
        ("atanh(-x)", "-atanh(x)"),
        ("tanh(x)", "sinh(x) / cosh(x)"),
        ("tanh(-x)", "-tanh(x)"),
        ("cosh(x) ** 2 - sinh(x) ** 2", "ones(5)"),
        ("cosh(x) + sinh(x)", "exp(x)"),
    ],
)
def test_what_is_known_of_angles(left: str, right: str) -> None:
    assert_identity(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("sin(2 * x)", "2 * sin(x) * cos(x)"),
        ("acos(-x)", "-acos(x)"),
        ("acosh(x)", "asinh(x)"),
        ("atan2(x, y)", "atan(x)"),
    ],
)
def test_what_is_not_of_angles(left: str, right: str) -> None:
    assert_different(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("erf(x) + erfc(x)", "ones(5)"),
        ("erf(-x)", "-erf(x)"),
        ("erf(0 * x)", "zeros(5)"),
        ("xlogy(x, y)", "x * log(y)"),
    ],
)
def test_what_is_known_of_the_error_function(left: str, right: str) -> None:
    assert_identity(left, right)


def test_what_is_not_of_the_error_function() -> None:
    assert_different("erf(x)", "erf(y)")
