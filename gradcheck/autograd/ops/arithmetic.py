"""Arithmetic, element by element, with broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.op import op

_TWO = ((-3.0, 3.0), (-3.0, 3.0))
_DIVISOR = ((-3.0, 3.0), (0.3, 3.0))


@op(
    (lambda g, y, a, b, alpha=1: g, lambda g, y, a, b, alpha=1: g if alpha == 1 else g * alpha),
    elementwise=True,
    domain=_TWO,
)
def add(input: Any, other: Any, alpha: float = 1) -> Any:
    """The sum `input + alpha * other`."""
    return np.add(input, other) if alpha == 1 else input + alpha * other


@op(
    (lambda g, y, a, b, alpha=1: g, lambda g, y, a, b, alpha=1: g * -alpha),
    aliases=("subtract",),
    elementwise=True,
    domain=_TWO,
)
def sub(input: Any, other: Any, alpha: float = 1) -> Any:
    """The difference `input - alpha * other`."""
    return np.subtract(input, other) if alpha == 1 else input - alpha * other


@op((lambda g, y, a, b: g * b, lambda g, y, a, b: g * a), aliases=("multiply",), elementwise=True, domain=_TWO)
def mul(input: Any, other: Any) -> Any:
    """The product, element by element."""
    return np.multiply(input, other)


@op(lambda g, y, x: -g, aliases=("negative",), elementwise=True)
def neg(input: Any) -> Any:
    """The negative."""
    return np.negative(input)
