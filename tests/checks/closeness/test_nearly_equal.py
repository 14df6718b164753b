"""Near equality: one function, and the tolerances by which explanations use it."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.closeness.nearly_equal import (
    DERIVATION,
    derivation_tolerance,
    nearly_equal,
    rounding_tolerance,
)
from gradcheck.checks.closeness.tolerance import ROUNDINGS, Tolerance, base, epsilon
from tests.reports.conftest import make_failed

WANT = np.array([1e-3, -2.0, 5.0])
FLOAT64, FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)


def test_shapes_must_be_the_same() -> None:
    assert not nearly_equal(WANT[:1], WANT)
    assert nearly_equal(WANT, WANT.copy())


@pytest.mark.parametrize(
    ("got", "want", "agrees"),
    [
        (np.nan, np.nan, True),
        (np.nan, 1.0, False),
        (1.0, np.nan, False),
        (np.inf, np.inf, True),
        (np.inf, -np.inf, False),
        (1.0, np.inf, False),
        (np.inf, 1.0, False),
    ],
)
def test_what_is_not_finite_agrees_with_itself_alone(got: float, want: float, agrees: bool) -> None:
    assert nearly_equal(np.array([got]), np.array([want]), Tolerance(1e-2, 1e-2)) == agrees


def test_a_derivation_may_lose_a_part_of_the_largest_element() -> None:
    part = DERIVATION[8] * 5.0
    assert derivation_tolerance(WANT) == Tolerance(0.0, part)
    assert nearly_equal(WANT + 0.9 * part, WANT)
    assert not nearly_equal(WANT + 1.1 * part, WANT)
    assert derivation_tolerance(WANT.astype(np.float32)).atol == DERIVATION[4] * 5.0


def test_integers_and_booleans_must_be_equal() -> None:
    assert nearly_equal(np.array([1, 2]), np.array([1, 2]))
    assert not nearly_equal(np.array([1, 2]), np.array([1, 3]))
    assert not nearly_equal(np.array([True]), np.array([False]))


def test_rounding_is_relative_to_each_element_and_to_what_cancels() -> None:
    known = rounding_tolerance(FLOAT64, scale=100.0)
    assert known == Tolerance(base(FLOAT64).rtol, ROUNDINGS * epsilon(FLOAT64) * 100.0)
    assert nearly_equal(WANT + 0.9 * known.atol, WANT, known)
    assert not nearly_equal(WANT + np.array([1e-9, 0, 0]), WANT, known)


def test_the_coarser_dtype_decides() -> None:
    assert rounding_tolerance(FLOAT64, FLOAT32, scale=1.0) == rounding_tolerance(FLOAT32, scale=1.0)
    wider = rounding_tolerance(FLOAT32, scale=1.0, margin=10.0)
    assert wider.rtol == pytest.approx(10 * base(FLOAT32).rtol)


def test_slack_is_added_for_each_element() -> None:
    slack = np.array([0.1, 0.0, 0.0])
    assert nearly_equal(WANT + slack, WANT, base(FLOAT64), slack)
    assert not nearly_equal(WANT + slack[::-1], WANT, base(FLOAT64), slack)


def test_a_comparison_has_a_tolerance() -> None:
    c = make_failed([1.0], [2.0])
    assert Tolerance.of(c) == Tolerance(c.rtol or 0.0, c.atol or 0.0)
