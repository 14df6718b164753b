"""Choosing between elements, place by place: `where`, and the larger or smaller of two."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.op import composite, op
from gradcheck.errors import ArgumentError, DtypeMismatch

_TWO = ((-3.0, 3.0), (-3.0, 3.0))


def _where_input(g: Any, y: Any, c: Any, a: Any, b: Any) -> Any:
    return where(c, g, 0)


def _where_other(g: Any, y: Any, c: Any, a: Any, b: Any) -> Any:
    return where(c, 0, g)


@op(
    (None, _where_input, _where_other),
    elementwise=True,
    masked=True,
    domain=((0.0, 1.0), *_TWO),
    samples=(
        "where(randn(2, 3) > 0, randn(2, 3), randn(3))",
        "where(tensor([True, False, True]), randn(3), 0)",
        "where(tensor([True, False, True]), 1.5, randn(2, 3))",
        "where(randn(2, 1) > 0, randn(3), randn(()))",
        "where(randn(0) > 0, randn(0), 1.0)",
    ),
    analytic=True,
)
def where(condition: Any, input: Any, other: Any) -> Any:
    """`input` where `condition` holds, `other` elsewhere."""
    mask = np.asarray(condition)
    if mask.dtype.kind != "b":
        raise DtypeMismatch(f"where takes a condition of booleans, not {mask.dtype}")
    return np.where(mask, input, other)


# The larger, the smaller ---------------------------------------------------------------------------


@op(
    (
        lambda g, y, a, b: where(a < b, 0, where(a == b, g / 2, g)),
        lambda g, y, a, b: where(b < a, 0, where(a == b, g / 2, g)),
    ),
    elementwise=True,
    takes="bif",
    domain=_TWO,
    kinks="ties, which share the gradient",
    samples=(
        "maximum(tensor([1.0, 2.0, 3.0]), tensor([1.0, 5.0, 0.0]))",
        "maximum(tensor([nan, 1.0]), tensor([1.0, nan]))",
    ),
)
def maximum(input: Any, other: Any) -> Any:
    """The larger of two; NaN where either is."""
    return np.maximum(input, other)


@op(
    (
        lambda g, y, a, b: where(a > b, 0, where(a == b, g / 2, g)),
        lambda g, y, a, b: where(b > a, 0, where(a == b, g / 2, g)),
    ),
    elementwise=True,
    takes="bif",
    domain=_TWO,
    kinks="ties, which share the gradient",
    samples=(
        "minimum(tensor([1.0, 2.0, 3.0]), tensor([1.0, 5.0, 0.0]))",
        "minimum(tensor([nan, 1.0]), tensor([1.0, nan]))",
    ),
)
def minimum(input: Any, other: Any) -> Any:
    """The smaller of two; NaN where either is."""
    return np.minimum(input, other)


@op(
    (
        lambda g, y, a, b: where((a >= b) | (b != b), g, 0),
        lambda g, y, a, b: where((a >= b) | (b != b), 0, g),
    ),
    elementwise=True,
    takes="bif",
    domain=_TWO,
    kinks="ties",
    samples=("fmax(tensor([1.0, nan, 3.0, nan]), tensor([1.0, 5.0, nan, nan]))",),
)
def fmax(input: Any, other: Any) -> Any:
    """The larger of two; a NaN counts only against another."""
    return np.fmax(input, other)


@op(
    (
        lambda g, y, a, b: where((a <= b) | (b != b), g, 0),
        lambda g, y, a, b: where((a <= b) | (b != b), 0, g),
    ),
    elementwise=True,
    takes="bif",
    domain=_TWO,
    kinks="ties",
    samples=("fmin(tensor([1.0, nan, 3.0, nan]), tensor([1.0, 5.0, nan, nan]))",),
)
def fmin(input: Any, other: Any) -> Any:
    """The smaller of two; a NaN counts only against another."""
    return np.fmin(input, other)


# Within bounds -------------------------------------------------------------------------------------


def _clamp_input(g: Any, y: Any, x: Any, low: Any = None, high: Any = None) -> Any:
    if low is None:
        return where(x <= high, g, 0)
    return where(x >= low if high is None else (x >= low) & (x <= high), g, 0)


def _clamp_min(g: Any, y: Any, x: Any, low: Any, high: Any = None) -> Any:
    return where(x < low if high is None else (x < low) & (low < high), g, 0)


def _clamp_max(g: Any, y: Any, x: Any, low: Any, high: Any) -> Any:
    return where(x > high if low is None else (x > high) | (high < low), g, 0)


@op(
    (_clamp_input, _clamp_min, _clamp_max),
    aliases=("clip",),
    elementwise=True,
    takes="if",
    domain=(*_TWO, (0.0, 3.0)),
    kinks="bounds, at which the gradient still passes",
    samples=(
        "clamp(tensor([-2.0, -1.0, 0.5, 1.0, 2.0, nan]), -1, 1)",
        "clamp(randn(2, 3), min=0)",
        "clamp(randn(2, 3), max=0.5)",
        "clamp(randn(2, 3), min=randn(3))",
        "clamp(randn(2, 3), max=randn(2, 1))",
        "randn(2, 3).clamp(1, -1)",
        "clamp(randint(-5, 5, [4]), -1, 2)",
    ),
)
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """`input`, raised to `min` and then lowered to `max`, numbers or tensors; where they cross, `max`."""
    if min is None and max is None:
        raise ArgumentError("clamp needs min, max or both")
    raised = input if min is None else np.maximum(input, min)
    return raised if max is None else np.minimum(raised, max)


@composite(samples=("clamp_min(randn(3), 0)", "clamp_min(randn(2, 3), randn(3))"))
def clamp_min(input: Any, min: Any) -> Any:
    """`input`, raised to `min`."""
    return clamp(input, min)


@composite(samples=("clamp_max(randn(3), 0)", "clamp_max(randn(2, 3), randn(3))"))
def clamp_max(input: Any, max: Any) -> Any:
    """`input`, lowered to `max`."""
    return clamp(input, None, max)
