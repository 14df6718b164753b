"""Arithmetic, element by element, with broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np
from ml_dtypes import finfo

from gradcheck.autograd.dtypes import HALVES, real_of
from gradcheck.autograd.modes import default_dtype
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.creation import zeros_like
from gradcheck.autograd.ops.extrema import where
from gradcheck.errors import ArgumentError, DomainError

_TWO = ((-3.0, 3.0), (-3.0, 3.0))
_DIVISOR = ((-3.0, 3.0), (0.3, 3.0))


@op(
    (lambda g, y, a, b, alpha=1: g, lambda g, y, a, b, alpha=1: g if alpha == 1 else g * alpha),
    elementwise=True,
    ufunc=np.add,
    domain=_TWO,
    samples=("add(randn(2, 3), randn(3), alpha=2)", "1 + randn(3)", "randn(3) + randint(0, 5, [3])"),
    analytic=True,
)
def add(input: Any, other: Any, *, alpha: float = 1) -> Any:
    """The sum `input + alpha * other`."""
    return np.add(input, other) if alpha == 1 else input + alpha * other


@op(
    (lambda g, y, a, b, alpha=1: g, lambda g, y, a, b, alpha=1: g * -alpha),
    aliases=("subtract",),
    elementwise=True,
    ufunc=np.subtract,
    domain=_TWO,
    samples=("sub(randn(2, 3), randn(3), alpha=2)", "1 - randn(3)"),
    analytic=True,
)
def sub(input: Any, other: Any, *, alpha: float = 1) -> Any:
    """The difference `input - alpha * other`."""
    return np.subtract(input, other) if alpha == 1 else input - alpha * other


@composite(samples=("rsub(randn(3), randn(3))", "rsub(randn(3), 2, alpha=3)"))
def rsub(input: Any, other: Any, *, alpha: float = 1) -> Any:
    """The difference the other way round, `other - alpha * input`."""
    return sub(other, input, alpha=alpha)


@op(
    (lambda g, y, a, b: g * b, lambda g, y, a, b: g * a),
    aliases=("multiply",),
    elementwise=True,
    ufunc=np.multiply,
    domain=_TWO,
    samples=("2 * randn(3)",),
    analytic=True,
)
def mul(input: Any, other: Any) -> Any:
    """The product, element by element."""
    return np.multiply(input, other)


@op(lambda g, y, x: -g, aliases=("negative",), elementwise=True, analytic=True)
def neg(input: Any) -> Any:
    """The negative."""
    return np.negative(input)


@op(lambda g, y, x: g, elementwise=True, analytic=True)
def positive(input: Any) -> Any:
    """The same numbers."""
    return np.positive(input)


# Division ------------------------------------------------------------------------------------------


def _div_input(g: Any, y: Any, a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    return g / b if rounding_mode is None else zeros_like(g)


def _div_other(g: Any, y: Any, a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    return -g * (y / b) if rounding_mode is None else zeros_like(g)


@op(
    (_div_input, _div_other),
    aliases=("divide", "true_divide"),
    elementwise=True,
    domain=_DIVISOR,
    kinks="other = 0",
    samples=(
        "div(randn(2, 3), uniform(0.3, 2, [3]), rounding_mode='floor')",
        "div(randn(2, 3), uniform(-2, -0.3, [3]), rounding_mode='trunc')",
        "1 / uniform(0.3, 2, [3])",
        "randint(0, 5, [3]) / 2",
        "div(randint(-5, 5, [4]), 2, rounding_mode='trunc')",
        "div(randint(-5, 5, [4]), 2, rounding_mode='floor')",
    ),
    analytic=True,
)
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """The quotient; with `rounding_mode` "floor" or "trunc" rounded down, or toward zero.

    Integers divide to the default dtype, unless rounded.
    """
    if rounding_mode is None:
        if input.dtype.kind in "biu":
            input, other = input.astype(default_dtype()), other.astype(default_dtype())
        return np.true_divide(input, other)
    if rounding_mode not in ("floor", "trunc"):
        raise ArgumentError(f"div: rounding_mode is None, 'floor' or 'trunc', not {rounding_mode!r}")
    if rounding_mode == "floor":
        return floor_divide.forward(input, other)
    if input.dtype.kind == "f":
        return np.trunc(input / other)
    _refuse_zeros("div", other)
    return (input - np.fmod(input, other)) // other


def _refuse_zeros(name: str, divisor: Any) -> None:
    if divisor.dtype.kind in "iu" and not np.all(divisor):
        raise DomainError(f"{name}: an integer is divided by zero")


@op(
    (None, None),
    elementwise=True,
    takes="if",
    domain=_DIVISOR,
    samples=("randint(-5, 5, [4]) // 3", "randn(3) // 0.5"),
)
def floor_divide(input: Any, other: Any) -> Any:
    """The quotient, rounded down; no gradient flows through it."""
    _refuse_zeros("floor_divide", other)
    return np.floor_divide(input, other)


@op(
    (lambda g, y, a, b: g, lambda g, y, a, b: -g * div(a, b, rounding_mode="floor")),
    elementwise=True,
    takes="if",
    domain=_DIVISOR,
    kinks="where input / other is an integer",
    samples=("randn(3) % 0.7", "7 % uniform(0.5, 2, [3])", "randint(-5, 5, [4]) % 3"),
)
def remainder(input: Any, other: Any) -> Any:
    """What `floor_divide` leaves, of the divisor's sign: Python's `%`."""
    _refuse_zeros("remainder", other)
    return np.remainder(input, other)


@op(
    (lambda g, y, a, b: g, lambda g, y, a, b: -g * div(a, b, rounding_mode="trunc")),
    elementwise=True,
    takes="if",
    domain=_DIVISOR,
    kinks="where input / other is an integer",
    samples=("fmod(randn(3), 0.7)", "fmod(randint(-5, 5, [4]), 3)"),
)
def fmod(input: Any, other: Any) -> Any:
    """What division rounded toward zero leaves, of the dividend's sign: C's `fmod`."""
    _refuse_zeros("fmod", other)
    return np.fmod(input, other)


@op(lambda g, y, x: -g * (y * y), elementwise=True, floating=True, domain=((0.3, 3.0),), kinks="0", analytic=True)
def reciprocal(input: Any) -> Any:
    """One divided by each element."""
    return 1 / input


# Combinations --------------------------------------------------------------------------------------


@op(
    (
        lambda g, y, a, b, w: g * (1 - w),
        lambda g, y, a, b, w: g * w,
        lambda g, y, a, b, w: g * (b - a),
    ),
    elementwise=True,
    domain=(*_TWO, (-1.0, 2.0)),
    samples=("lerp(randn(2, 3), randn(2, 3), 0.25)", "lerp(randn(3), randn(2, 1), uniform(0, 1, [3]))"),
    analytic=True,
)
def lerp(input: Any, end: Any, weight: Any) -> Any:
    """Linear interpolation, `input + weight * (end - input)`, exact at weights 0 and 1."""
    step = end - input
    return np.where(np.abs(weight) < 0.5, input + weight * step, end - step * (1 - weight))


@op(
    (lambda g, y, a, b: g * (a / y), lambda g, y, a, b: g * (b / y)),
    elementwise=True,
    takes="f",
    domain=_DIVISOR,
    kinks="0, 0",
)
def hypot(input: Any, other: Any) -> Any:
    """The hypotenuse, `sqrt(input**2 + other**2)`, without overflow."""
    return np.hypot(input, other)


@composite(
    samples=("addcmul(randn(2, 3), randn(3), randn(2, 1), value=0.5)", "addcmul(randn(3), randn(3), randn(3))"),
)
def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    """`input + value * tensor1 * tensor2`."""
    return input + value * (tensor1 * tensor2)


@composite(
    samples=("addcdiv(randn(2, 3), randn(3), uniform(0.5, 2, [2, 1]), value=0.5)",),
)
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    """`input + value * tensor1 / tensor2`."""
    return input + value * (tensor1 / tensor2)


@op(lambda g, y, x: g * (np.pi / 180), elementwise=True, takes="f", floating=True, domain=((-180.0, 180.0),))
def deg2rad(input: Any) -> Any:
    """Degrees as radians."""
    return input * (np.pi / 180)


@op(lambda g, y, x: g * (180 / np.pi), elementwise=True, takes="f", floating=True)
def rad2deg(input: Any) -> Any:
    """Radians as degrees."""
    return input * (180 / np.pi)


@op(
    lambda g, y, x, nan=0.0, posinf=None, neginf=None: where((x - x) == 0, g, 0),
    elementwise=True,
    rounds=True,
    samples=(
        "nan_to_num(tensor([1.0, nan, inf, -inf]))",
        "nan_to_num(tensor([1.0, nan, inf, -inf]), 1.0, 2.0, -2.0)",
    ),
)
def nan_to_num(input: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """Finite numbers in the place of NaN and the infinities: `nan`, and by default the largest there are."""
    if input.dtype.kind in "biu":
        return input.copy()
    limit = float(finfo(real_of(input.dtype)).max)  # type: ignore[no-untyped-call]
    high, low = limit if posinf is None else posinf, -limit if neginf is None else neginf
    wide = input.astype(np.float32) if input.dtype in HALVES else input
    return np.nan_to_num(wide, nan=nan, posinf=high, neginf=low).astype(input.dtype, copy=False)
