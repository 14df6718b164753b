"""Modes end with their block, also by an error."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.modes import default_dtype, is_recording, no_grad, quiet, silently, using_default_dtype


def test_recording_is_off_inside_and_on_again_after_an_error() -> None:
    def divided() -> float:
        with no_grad():
            assert not is_recording()
            return 1 / 0

    with pytest.raises(ZeroDivisionError):
        divided()
    assert is_recording()


def test_a_function_may_be_decorated() -> None:
    assert not no_grad()(is_recording)()
    assert is_recording()


def test_the_default_dtype_may_be_nested() -> None:
    single, half = np.dtype(np.float32), np.dtype(np.float16)
    with using_default_dtype(single):
        with using_default_dtype(half):
            assert default_dtype() is half
        assert default_dtype() is single
    assert default_dtype() == np.float64


def test_infinities_are_no_warnings_where_it_is_quiet() -> None:
    zero = np.zeros(1)
    with quiet(), quiet():
        assert np.isinf(1 / zero).all()
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        1 / zero


def test_one_call_may_be_silent_and_fails_as_ever() -> None:
    zero = np.zeros(1)
    assert np.isinf(silently(np.divide, 1, zero)).all()
    with pytest.raises(ValueError, match="broadcast"):
        silently(np.add, np.ones(2), np.ones(3))
    assert np.isinf(silently(np.divide, 1, zero)).all()
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.divide(1, zero)


def test_a_silent_call_within_another_is_refused() -> None:
    with pytest.raises(RuntimeError):
        silently(silently, np.negative, np.zeros(1))
