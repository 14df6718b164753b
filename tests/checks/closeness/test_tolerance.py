"""The one rule of closeness, and which tolerance wins."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.dtypes import BFLOAT16
from gradcheck.checks.closeness.tolerance import (
    EXACT,
    ZERO_ROUNDINGS,
    Tolerance,
    base,
    claim_tolerance,
    engine_tolerance,
    epsilon,
    ulp,
    zero_allowance,
)
from gradcheck.language.case import StatedTolerance

DOUBLE = np.dtype(np.float64)


def test_what_is_allowed_is_relative_to_the_element_and_the_absolute_part_and_the_slack_on_top() -> None:
    magnitude = np.array([0.0, 1.0, 100.0])
    assert Tolerance(rtol=0.1).allowed(magnitude).tolist() == pytest.approx([0.0, 0.1, 10.0])
    assert Tolerance(rtol=0.1, atol=1.0).allowed(magnitude).tolist() == pytest.approx([1.0, 1.1, 11.0])
    more = Tolerance(0.0).allowed(magnitude, slack=np.array([1.0, 0.0, 2.0]))
    assert more.tolist() == [1.0, 0.0, 2.0]


def test_nothing_absolute_is_allowed_unless_somebody_asks_for_it() -> None:
    assert {base(dtype).atol for dtype in (DOUBLE, np.dtype(np.float32), np.dtype(np.float16), BFLOAT16)} == {0.0}


def test_a_complex_dtype_is_held_to_its_parts_and_integers_are_exact() -> None:
    assert base(np.dtype(np.complex64)) == base(np.dtype(np.float32))
    assert base(np.dtype(np.int64)) == base(np.dtype(bool)) == EXACT


@pytest.mark.parametrize(
    ("stated", "run", "rtol", "atol"),
    [
        ({}, None, 1e-10, 0.0),
        ({"": StatedTolerance(rtol=1e-3)}, None, 1e-3, 0.0),
        ({"": StatedTolerance(rtol=1e-3), "x": StatedTolerance(atol=1e-2)}, None, 1e-3, 1e-2),
        ({"x": StatedTolerance(rtol=1e-4), "y": StatedTolerance(rtol=1.0)}, None, 1e-4, 0.0),
        ({"x": StatedTolerance(rtol=1e-4)}, StatedTolerance(rtol=1e-6), 1e-6, 0.0),
    ],
)
def test_the_run_wins_then_the_tensor_then_the_case(
    stated: dict[str, StatedTolerance], run: StatedTolerance | None, rtol: float, atol: float
) -> None:
    assert claim_tolerance(stated, "x", DOUBLE, run) == Tolerance(rtol, atol)


def test_engines_are_held_to_the_default_unless_the_case_or_the_run_says_otherwise() -> None:
    assert engine_tolerance(DOUBLE) == base(DOUBLE)
    assert engine_tolerance(DOUBLE, StatedTolerance(rtol=1e-3)).rtol == 1e-3
    assert engine_tolerance(DOUBLE, StatedTolerance(rtol=1e-3), StatedTolerance(rtol=1e-5)).rtol == 1e-5
    assert engine_tolerance(np.dtype(np.int32), StatedTolerance(rtol=1e-3)) == EXACT


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_units_in_the_last_place_are_numpys(dtype: type) -> None:
    numbers = np.array([1.0, 1.5, 2.0, 1000.0, 0.1, np.finfo(dtype).tiny], dtype)
    assert epsilon(np.dtype(dtype)) == np.finfo(dtype).eps
    assert ulp(numbers.astype(np.float64), np.dtype(dtype)).tolist() == np.spacing(numbers).astype(np.float64).tolist()


def test_bfloat16_has_eight_bits() -> None:
    assert epsilon(BFLOAT16) == 2.0**-7
    assert epsilon(np.dtype(np.int64)) == 0.0


def test_only_a_wanted_0_has_the_roundings_of_inputs_up_to_1() -> None:
    want = np.array([0.0, 1.0, 1e-300])
    assert zero_allowance(want, 1e20).tolist() == zero_allowance(want, 1.0).tolist() == [ZERO_ROUNDINGS * 2**-52, 0, 0]
    assert zero_allowance(want, 1e-10)[0] == ZERO_ROUNDINGS * 2**-52 * 1e-10
