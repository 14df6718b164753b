"""Roots and powers: integer powers are exact, all others are made up, but for what is known of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE, Op
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact.degree import MADE_UP, Degree
from gradcheck.oracles.exact.dual import Residue, acts_on, lift
from gradcheck.oracles.exact.ops.arithmetic import one, plus, reciprocal, times
from gradcheck.oracles.exact.point import Point
from gradcheck.oracles.exact.uninterpreted import (
    log,
    number,
    pair,
    smooth,
    smooth_in_two,
    squared,
    unknown,
    unknown_of_two,
)


def root(x: Residue) -> Residue:
    """A made-up square root `y`, of derivative `1 / (2 y)`; wherever it is squared as such, that is x again."""
    y = unknown("sqrt", x)
    _know_square(y, x)
    return smooth(x, y, lambda: reciprocal(plus(y, y)))


def _know_square(y: Residue, x: Residue) -> None:
    if x.point.squares:
        x.point.know("square", y.value, x.value, y.degree.beside(x.degree))


def square(x: Residue) -> Residue:
    """`x ** 2`, where x is a root what it is the root of."""
    found = squared(x)
    value = x.point.known("square", x.value, found.value)
    if value is found.value:
        return found
    tangent = found.tangent
    return Residue(x.point, value, tangent, found.degree.beside(Degree(1, kind=MADE_UP)))


@acts_on("square")
def _square(point: Point, op: Op, x: Residue) -> Residue:
    return square(x)


@acts_on("mul")
def _mul(point: Point, op: Op, a: Any, b: Any) -> Residue:
    return square(a) if a is b and point.squares else times(lift(point, a), lift(point, b))


def _rsqrt(x: Residue) -> Residue:
    """`1 / y`, of derivative `-1 / (2 y^3)`."""
    value = reciprocal(root(x.still()))
    _know_square(value, reciprocal(x.still()))
    return smooth(x, value, lambda: times(times(square(value), value), number(x, -0.5)))


@acts_on("std")
def _std(point: Point, op: Op, x: Residue, *settings: Any) -> Residue:
    return root(TABLE["var"](x, *settings[:3], correction=settings[3]))


@acts_on("hypot")
def _hypot(point: Point, op: Op, a: Any, b: Any) -> Residue:
    a, b = lift(point, a), lift(point, b)
    return root(plus(squared(a), squared(b)))


def integer_power(x: Residue, exponent: int) -> Residue:
    """`x ** exponent`, by repeated squaring."""
    if exponent == 0:
        return plus(one(x), times(x.still(), number(x, 0)))
    if exponent < 0:
        return reciprocal(integer_power(x, -exponent))
    found: Residue | None = None
    while True:
        if exponent & 1:
            found = x if found is None else times(found, x)
        exponent >>= 1
        if not exponent:
            assert found is not None
            return found
        x = square(x)


def _half_power(x: Residue, whole: int) -> Residue:
    """`x ** (whole + 1/2)`, with powers of x and the root as few as can be."""
    y = root(x.still())
    still = x.still()
    if whole >= 0:
        value = times(integer_power(still, whole), y)
    else:
        value = reciprocal(times(integer_power(still, -whole - 1), y))
    return smooth(x, value, lambda: times(number(x, whole + 0.5), _half_power(still, whole - 1)))


@acts_on("pow")
def _pow(point: Point, op: Op, base: Any, exponent: Any) -> Residue:
    """Integer powers are exact; `x ** 0.5` is the square root's; others are made up, but for their slopes."""
    if isinstance(exponent, (np.ndarray, np.generic)) and exponent.ndim == 0:
        exponent = exponent.item()
    if isinstance(exponent, (int, float)) and abs(exponent) <= 4096:
        base = lift(point, base)
        if exponent == int(exponent):
            return integer_power(base, int(exponent))
        if 2 * exponent == int(2 * exponent):
            return _half_power(base, int(np.floor(exponent)))
    if isinstance(base, (int, float)) and base <= 0:
        raise Unsupported(f"powers of {base}")
    if isinstance(exponent, np.ndarray) and exponent.dtype.kind in "iu" and np.all(abs(exponent) <= 64):
        return _integer_powers(lift(point, base), exponent)
    slope = np.log(base) if isinstance(base, (int, float)) else None
    return power(lift(point, base), lift(point, exponent), slope)


def _integer_powers(x: Residue, exponents: np.ndarray) -> Residue:
    """Each power once, chosen where it is asked for."""
    shape = np.broadcast_shapes(x.shape, exponents.shape)
    found: Residue = TABLE["expand"](lift(x.point, np.zeros(())), shape)
    for exponent in np.unique(exponents).tolist():
        found = TABLE["where"](exponents == exponent, integer_power(x, exponent), found)
    return found


def power(x: Residue, y: Residue, log_of_x: float | None = None) -> Residue:
    """`x ** y`, where `x ** (y - 1)` is known to be `x ** y / x`; its slopes follow."""
    p, q = x.still(), y.still()
    value = unknown_of_two("pow", p, q)
    ratio = times(value, reciprocal(p))
    below, degree = pair(p, plus(q, one(x), -1)), value.degree.beside(ratio.degree)
    x.point.know("pow", below.value, np.broadcast_to(ratio.value, below.shape), degree.beside(below.degree))
    return smooth_in_two(
        x, y, value, lambda: times(q, ratio),
        lambda: times(value, log(p) if log_of_x is None else number(x, log_of_x)),
    )  # fmt: skip


acts_on("sqrt")(lambda point, op, x: root(x))
acts_on("rsqrt")(lambda point, op, x: _rsqrt(x))
