"""Python numbers as arrays."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np


def constant(value: Any, dtype: Any) -> np.ndarray:
    """Return a Python number as a read-only 0-d array; equal numbers share one, but 0.0 equals -0.0."""
    return _constant(value, dtype) if value or type(value) is int else np.asarray(value, dtype)


@lru_cache(maxsize=1024)
def _constant(value: Any, dtype: Any) -> np.ndarray:
    array = np.asarray(value, dtype)
    array.flags.writeable = False
    return array
