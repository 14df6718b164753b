"""Values that are made up, and what is known of them: tangents by the chain rule, oddness, exponentials, logarithms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.degree import MADE_UP, Degree
from gradcheck.oracles.exact.dual import Residue, lift
from gradcheck.oracles.exact.ops.arithmetic import plus, reciprocal, times


def smooth(x: Residue, value: Residue, slope: Callable[[], Residue]) -> Residue:
    """A function's value at x, its tangent by the chain rule."""
    tangent = x.tangent
    if tangent is None:
        return value
    factor = slope()
    moved = factor.value * tangent % x.point.prime
    return Residue(x.point, value.value, moved, value.degree.chained(factor.degree, x.degree))


def unknown(name: str, x: Residue) -> Residue:
    """A made-up value for each of x, without tangent."""
    value = x.point.made_up(name, x.value, x.degree)
    return Residue(x.point, value, None, Degree(1, kind=x.degree.kind | MADE_UP))


def unknown_of_two(name: str, a: Residue, b: Residue) -> Residue:
    """The same for each pair of arguments."""
    return unknown(name, pair(a.still(), b.still()))


def pair(a: Residue, b: Residue) -> Residue:
    """A random combination of two: different pairs have different ones, but by chance."""
    weight = a.point.made_up("", np.ones(1, dtype=np.int64), Degree())[0]
    return plus(a, times(b, Residue(a.point, weight, None, Degree(1))))


def odd(name: str, x: Residue) -> Residue:
    """A made-up value for each of x, of which `f(-x) = -f(x)` is known."""
    size, turned = mirrored(x)
    value = np.where(size == 0, 0, x.point.made_up(name, size, x.degree))
    found = np.where(turned, -value % x.point.prime, value)
    return Residue(x.point, found, None, Degree(1, kind=x.degree.kind | MADE_UP))


def mirrored(x: Residue) -> tuple[np.ndarray, np.ndarray]:
    """Each argument or its negative, whichever is smaller, and whether it was turned round."""
    turned = x.value > x.point.prime // 2
    return np.where(turned, x.point.prime - x.value, x.value), turned


def smooth_in_two(
    a: Residue, b: Residue, value: Residue, by_a: Callable[[], Residue], by_b: Callable[[], Residue]
) -> Residue:
    """A value with the tangents of two arguments, which broadcast to it."""
    parts = [smooth(x, value, slope) for x, slope in ((a, by_a), (b, by_b)) if x.lazy_tangent is not None]
    if len(parts) < 2:
        found = parts[0] if parts else value
        tangent = found.tangent
        shape = value.shape
        if tangent is not None and tangent.shape != shape:
            tangent = np.broadcast_to(tangent, shape)
        return Residue(value.point, value.value, tangent, found.degree)
    left, right = (part.tangent for part in parts)
    moved = (left + right) % value.point.prime  # type: ignore[operator]
    sums = parts[0].degree.plus(parts[1].degree)
    degree = value.degree._replace(slope=sums.slope, cofactor=sums.cofactor + value.degree.bottom, kind=sums.kind)
    return Residue(value.point, value.value, moved, degree)


def squared(x: Residue) -> Residue:
    return times(x, x)


def exp(x: Residue) -> Residue:
    """`exp(-x)` is `1 / exp(x)`, and `exp(0)` is 1."""
    point = x.point
    size, turned = mirrored(x)
    grown = np.where(size == 0, 1, point.made_up("exp", size, x.degree))
    degree = Degree(1, kind=x.degree.kind | MADE_UP)
    if np.any(turned):
        degree = Degree(2, 1, kind=degree.kind)
        known = point.known("exp", x.value, np.zeros_like(grown)) if point.has_infinity else None
        divisor = grown if known is None else np.where(turned & (grown != 0), grown, 1)
        grown = np.where(turned, modular.inverse(np.where(turned, divisor, 1), point.prime), grown)
    value = point.known("exp", x.value, grown)
    found = Residue(point, value, None, degree)
    return smooth(x, found, lambda: found)


def log(x: Residue) -> Residue:
    """A made-up logarithm: its derivative is `1 / x`, its exponential is x."""
    value = unknown("log", x)
    x.point.know("exp", value.value, x.value, value.degree.beside(x.degree))
    return smooth(x, value, lambda: reciprocal(x.still()))


def number(x: Residue, value: float) -> Residue:
    return lift(x.point, value)
