"""Python numbers as arrays."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.compiled.constants import constant

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def test_zeros_keep_their_signs() -> None:
    assert [np.signbit(constant(zero, DOUBLE)).item() for zero in (0, 0.0, -0.0, 0.0)] == [False, False, True, False]


def test_equal_numbers_share_an_array_that_nobody_can_write_to() -> None:
    assert constant(2.5, SINGLE) is constant(2.5, SINGLE)
    assert not constant(2.5, SINGLE).flags.writeable
