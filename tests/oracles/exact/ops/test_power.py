"""Roots and powers: integer powers are exact, others keep what is known of them."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import Unsupported
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.ops.power import integer_power
from gradcheck.oracles.exact.point import FieldPoint
from tests.oracles.exact.calls import PRIME
from tests.oracles.exact.identities import assert_different, assert_identity, both, names


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("sqrt(x) * rsqrt(x)", "ones(5)"),
        ("x ** 0.5", "sqrt(x)"),
        ("hypot(x, y)", "sqrt(x * x + y * y)"),
        ("std(x, 0)", "sqrt(var(x, 0))"),
        ("x ** -2 * x * x", "ones(5)"),
        ("x ** 0 + 0 * x", "ones(5)"),
    ],
)
def test_what_is_known(left: str, right: str) -> None:
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
