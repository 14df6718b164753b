"""An array within a line of text: `[[1, 2], [0.5, 3]]`, four digits at most."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def inline(array: np.ndarray) -> str:
    """All of the array's numbers, in nested brackets; nothing is left out."""
    if array.dtype.kind == "V":  # bfloat16
        array = array.astype(np.float64)
    return _nested(array.tolist())


def number(value: Any) -> str:
    """One number in four digits; integers up to a million whole."""
    if isinstance(value, complex):
        imaginary = number(value.imag)
        return f"{number(value.real)}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
    if isinstance(value, bool) or not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.4g}"


def _nested(value: Any) -> str:
    """A list's depth is its array's number of dimensions, which NumPy bounds."""
    return f"[{', '.join(map(_nested, value))}]" if isinstance(value, list) else number(value)
