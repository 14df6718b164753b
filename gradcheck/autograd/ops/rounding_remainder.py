"""Rounding, and division with remainder; quotients pass no gradient."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.op import elementwise, row
from gradcheck.errors import DomainError, DtypeMismatch


def _round_floats(rounded: Any, input: Any) -> Any:
    """Round numbers; integers stay, and keep their dtype."""
    return input if input.dtype.kind in "biu" else rounded(input)


_step = partial(row, rules=(None,), takes="if", kinks="integers; the gradient is 0")
_step(
    "floor",
    "Rounded down.",
    lambda input: _round_floats(np.floor, input),
    latex=r"\left\lfloor # \right\rfloor",
    samples="floor(tensor([1, 2]))",
)
_step("ceil", "Rounded up.", lambda input: _round_floats(np.ceil, input), latex=r"\left\lceil # \right\rceil")
_step("trunc", "Rounded toward 0.", lambda input: _round_floats(np.trunc, input), aliases=("fix",))
row(
    "frac",
    "What `trunc` takes away.",
    lambda input: input - np.trunc(input),
    lambda g, y, x: g,
    takes="f",
    kinks="integers",
)


@elementwise(
    (None,),
    takes="if",
    kinks="halves; the gradient is 0",
    samples="round(tensor([0.5, 1.5, 2.5, -0.5])); round(randn(3), decimals=2); round(randn(3) * 100, decimals=-1)",
)
def round(input: Any, *, decimals: int = 0) -> Any:
    """Rounded to the nearest, halves to the even one; to `decimals` places."""
    if decimals and input.dtype.kind in "iu":
        raise DtypeMismatch(f"round to decimals takes floating numbers, not {input.dtype}")
    if isinstance(decimals, int):
        decimals = min(max(decimals, -400), 400)  # no float has more places, and NumPy would count them one by one
    return np.round(input, decimals)


_DIVISION: dict[str, Any] = {"takes": "if", "domain": ((-3.0, 3.0), (0.3, 3.0))}


def refuse_zeros(name: str, divisor: Any) -> None:
    """Raise DomainError for an integer divisor of 0."""
    if divisor.dtype.kind in "iu" and not np.all(divisor):
        raise DomainError(f"{name}: an integer is divided by zero")


@elementwise((None, None), samples="randint(-5, 5, [4]) // 3; randn(3) // 0.5", **_DIVISION)
def floor_divide(input: Any, other: Any) -> Any:
    """The quotient, rounded down; no gradient flows through it."""
    refuse_zeros("floor_divide", other)
    return np.floor_divide(input, other)


@elementwise(
    (lambda g, y, a, b: g, lambda g, y, a, b: -g * ops.div(a, b, rounding_mode="floor")),
    kinks="where input / other is an integer",
    latex=r"# \bmod #",
    samples="randn(3) % 0.7; 7 % uniform(0.5, 2, [3]); randint(-5, 5, [4]) % 3",
    **_DIVISION,
)
def remainder(input: Any, other: Any) -> Any:
    """The remainder of `floor_divide`, with the divisor's sign; `%`."""
    refuse_zeros("remainder", other)
    return np.remainder(input, other)


@elementwise(
    (lambda g, y, a, b: g, lambda g, y, a, b: -g * ops.div(a, b, rounding_mode="trunc")),
    kinks="where input / other is an integer",
    samples="fmod(randn(3), 0.7); fmod(randint(-5, 5, [4]), 3)",
    **_DIVISION,
)
def fmod(input: Any, other: Any) -> Any:
    """The remainder of division toward zero, with the dividend's sign."""
    refuse_zeros("fmod", other)
    return np.fmod(input, other)
