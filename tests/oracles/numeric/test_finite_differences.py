"""Extrapolated differences: the error bar covers the error, kinks and jumps are seen."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from gradcheck.oracles.numeric.finite_differences import array_derivative, slope, slopes

UNIT = 2.0**-52


def of(function: Callable[[float], float], at: float) -> Callable[[float], tuple[np.ndarray, float]]:
    def share(t: float) -> tuple[np.ndarray, float]:
        return np.array([function(at + t)]), (at + t) - at

    return share


@pytest.mark.parametrize(
    ("function", "at", "right"),
    [
        (math.exp, 0.7, math.exp(0.7)),
        (lambda x: math.sin(1000 * x), 1.0, 1000 * math.cos(1000.0)),
        (lambda x: math.exp(100 * x), 0.5, 100 * math.exp(50.0)),
        (lambda x: x * x, 1e8, 2e8),
        (lambda x: math.log(x), 1e-8, 1e8),
        (lambda x: max(x, 0.0) + x, 1e-3, 2.0),
        (lambda x: x**7, -2.0, 7 * 64.0),
    ],
)
def test_the_error_is_within_its_bar(function: Callable[[float], float], at: float, right: float) -> None:
    found = slope(of(function, at), 2.0 ** round(math.log2(abs(at))) / 8, UNIT)
    assert not found.kinked
    assert abs(found.value - right) <= found.error
    assert found.error <= 1e-7 * abs(right)


@pytest.mark.parametrize(
    ("function", "left", "right"),
    [(abs, -1.0, 1.0), (lambda x: max(x, 0.0), 0.0, 1.0), (lambda x: max(3 * x, 10 * x) + math.sin(x), 4.0, 11.0)],
)
def test_kinks_have_one_sided_derivatives(function: Callable[[float], float], left: float, right: float) -> None:
    found = slope(of(function, 0.0), 0.125, UNIT)
    assert found.left == pytest.approx(left, abs=1e-9)
    assert found.right == pytest.approx(right, rel=1e-9)


def test_a_kink_close_by_is_none() -> None:
    found = slope(of(lambda x: abs(x - 1e-4), 0.0), 0.125, UNIT)
    assert not found.kinked
    assert abs(found.value + 1) <= found.error <= 1e-6


def test_jumps_have_no_derivative() -> None:
    found = slope(of(lambda x: math.floor(x) + x, 2.0), 0.25, UNIT)
    assert (found.left, found.right) == (-math.inf, math.inf)


def test_an_isolated_point_is_a_jump() -> None:
    found = slope(of(lambda x: 0.0 if x == 0 else 1.0 + x, 0.0), 0.125, UNIT)
    assert found.kinked


@pytest.mark.parametrize("function", [lambda x: math.copysign(math.sqrt(abs(x)), x), lambda x: math.nan])
def test_what_does_not_converge_has_a_wide_bar(function: Callable[[float], float]) -> None:
    found = slope(of(function, 0.0), 0.125, UNIT)
    assert not found.error < 1e-3 * abs(found.value)


def test_noise_makes_the_bar_wide() -> None:
    generator = np.random.default_rng(0)
    noisy = slope(of(lambda x: math.sin(x) + 1e-6 * generator.standard_normal(), 1.0), 0.125, UNIT)
    assert abs(noisy.value - math.cos(1.0)) <= noisy.error
    assert noisy.error >= 1e-8


def test_arrays_are_derived_element_by_element() -> None:
    x = np.array([0.3, 1.0, 2.0])
    value, error = array_derivative(lambda t: np.sin(x + t), 0.125, UNIT)
    assert np.all(np.abs(value - np.cos(x)) <= error)
    assert np.all(error <= 1e-8)


def test_small_steps_overrule_large_ones() -> None:
    """Beyond a kink close by, differences agree with each other on the slope of another piece."""
    near = 1e-5
    found = slopes(lambda t: np.array([2 * t if abs(t) > near else -3 * t]), 0.125, UNIT)
    assert found.error[0] >= 4
    smooth = slopes(lambda t: np.array([math.sin(1 + t)]), 0.125, UNIT)
    assert smooth.error[0] <= 1e-9
