"""Released values have a shape and a dtype, and nothing to read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.compiled.released_value import ReleasedRead, released


def test_a_released_value_takes_no_memory() -> None:
    value = released((1000, 1000, 1000), np.dtype(np.float32))
    assert (value.shape, value.dtype, value.strides) == ((1000, 1000, 1000), np.float32, (0, 0, 0))


@pytest.mark.parametrize("read", [lambda x: x + 1, lambda x: 1 - x, np.exp, np.sum, lambda x: np.where(x, 1, 2)])
def test_computing_with_it_is_an_error(read: Callable[[Any], Any]) -> None:
    with pytest.raises(ReleasedRead):
        read(released((2,), np.dtype(np.float64)))
