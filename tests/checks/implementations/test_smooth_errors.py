"""Errors of rounding's size, of rounding and of a wrong formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.testing import check_function

_X = np.array([[0.4, -1.1, 0.9], [1.7, 0.2, -0.6]])


def _causes(derivative: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        check_function(lambda x: (np.sin(x), x), lambda g, x: g * derivative(x), x=_X)
    return str(caught.value).partition("in Python")[0]


@pytest.mark.parametrize("size", [1e-3, 1e-7])
def test_a_smooth_error_is_no_precision(size: float) -> None:
    text = _causes(lambda x: np.cos(x) + size * np.sin(3 * x) * np.exp(-x * x))
    assert "no known mistake explains it" in text
    assert "computed in" not in text


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_an_error_of_rounding_is(dtype: str) -> None:
    text = _causes(lambda x: (np.cos(x.astype(dtype)) * np.ones(1, dtype)).astype(x.dtype))
    assert f"computed in {dtype}" in text
