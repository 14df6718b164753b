"""Angles and hyperbolic functions: fractions of the half angle's tangent, and of the exponential."""

from __future__ import annotations

import pytest

from tests.oracles.exact.identities import assert_different, assert_identity


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
def test_what_is_known(left: str, right: str) -> None:
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
def test_what_is_not(left: str, right: str) -> None:
    assert_different(left, right)
