"""How ops act on dual numbers modulo a prime: arithmetic, element by element, and sums."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE, Op
from gradcheck.autograd.ops.common.dims import count
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.degree import CONSTANT, Degree
from gradcheck.oracles.exact.dual import Residue, Truth, acts_on, lift
from gradcheck.oracles.exact.lazy_matmul import Chain
from gradcheck.oracles.exact.ops.layout import linear
from gradcheck.oracles.exact.point import Point


def plus(a: Residue, b: Residue, sign: int = 1) -> Residue:
    """`a + sign * b`, with broadcasting."""
    prime = a.point.prime
    x, y = a.value, b.value
    value = (x + y if sign > 0 else x - y) % prime
    return Residue(a.point, value, _sum(a, b, sign, value.shape), a.degree.plus(b.degree))


def _sum(a: Residue, b: Residue, sign: int, shape: tuple[int, ...]) -> np.ndarray | None:
    left, right = a.tangent, b.tangent
    if right is None:
        return left if left is None else _broadcast(left, shape)
    if left is None:
        return _broadcast(right if sign > 0 else -right % a.point.prime, shape)
    return np.asarray((left + right if sign > 0 else left - right) % a.point.prime)


def _broadcast(tangent: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return tangent if tangent.shape == shape else np.broadcast_to(tangent, shape)


def times(a: Residue, b: Residue) -> Residue:
    """The product, element by element, with broadcasting."""
    prime = a.point.prime
    x, y = a.value, b.value
    value = x * y % prime
    left, right = a.tangent, b.tangent
    if left is None and right is None:
        tangent = None
    elif right is None:
        tangent = left * y % prime
    elif left is None:
        tangent = x * right % prime
    else:
        tangent = (left * y % prime + x * right % prime) % prime
    return Residue(a.point, value, tangent, a.degree.times(b.degree))


def reciprocal(x: Residue) -> Residue:
    """`1 / x`. Raises ZeroDivisionError where x is 0."""
    prime = x.point.prime
    value = modular.inverse(x.value, prime)
    tangent = x.tangent
    if tangent is not None:
        tangent = -(value * value % prime) * tangent % prime
    return Residue(x.point, value, tangent, x.degree.inverted())


def one(x: Residue) -> Residue:
    return Residue(x.point, np.ones((), dtype=np.int64), None, CONSTANT)


@acts_on("add", "sub")
def _add(point: Point, op: Op, a: Any, b: Any, alpha: Any = 1) -> Residue:
    a, b = lift(point, a), lift(point, b)
    total = plus(a, b if alpha == 1 else times(b, lift(point, alpha)), 1 if op.name == "add" else -1)
    return _absorbed(total, a, b) if point.has_infinity else total


def _absorbed(total: Residue, a: Residue, b: Residue) -> Residue:
    """A sum with minus infinity is minus infinity."""
    endless = total.point.infinity("-inf")
    where = (a.value == endless) | (b.value == endless)
    value = np.where(where, endless, total.value)
    tangent = None if total.tangent is None else np.where(where, 0, total.tangent)
    return Residue(total.point, value, tangent, total.degree.beside(Degree(1)))


@acts_on("reciprocal")
def _reciprocal(point: Point, op: Op, x: Any) -> Residue:
    return reciprocal(x)


@acts_on("lerp")
def _lerp(point: Point, op: Op, start: Any, end: Any, weight: Any) -> Residue:
    start = lift(point, start)
    return plus(start, times(lift(point, weight), plus(lift(point, end), start, -1)))


@acts_on("deg2rad", "rad2deg")
def _angle(point: Point, op: Op, x: Residue) -> Residue:
    """By the very number that the forward multiplies with."""
    return times(x, lift(point, op.forward(np.ones(()))))


# Sums -----------------------------------------------------------------------------------------


@acts_on("sum")
def total(point: Point, op: Op, x: Residue, dim: Any = None, keepdim: bool = False, *settings: Any) -> Residue:
    """Of a chain of matrices: a product with ones, which ends in a vector."""
    if type(x.lazy_value) is Chain:
        from gradcheck.oracles.exact.ops.products import sum_of_chain

        return sum_of_chain(op, x, dim, keepdim)
    return linear(point, op, x, dim, keepdim, None)


def summed(x: Residue, dim: Any = None, keepdim: bool = False) -> Residue:
    return total(x.point, TABLE["sum"], x, dim, keepdim)


@acts_on("mean")
def _mean(point: Point, op: Op, x: Residue, dim: Any = None, keepdim: bool = False, *settings: Any) -> Residue:
    return times(summed(x, dim, keepdim), reciprocal(lift(point, count(x, dim))))


@acts_on("var")
def variance(
    point: Point, op: Op, x: Residue, dim: Any, unbiased: bool | None, keepdim: bool, correction: float | None
) -> Residue:
    """The mean square of what differs from the mean, over `n - correction`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 0 if unbiased is False else 1
    number = count(x, dim)
    mean = times(summed(x, dim, True), reciprocal(lift(point, number)))
    centred = plus(x, mean, -1)
    squares = summed(times(centred, centred), dim, keepdim)
    return times(squares, reciprocal(lift(point, max(0, number - correction))))


@acts_on("prod")
def _prod(point: Point, op: Op, x: Residue, dim: Any = None, keepdim: bool = False, *settings: Any) -> Residue:
    """By halves along the dimension."""
    if not x.ndim:
        return x
    if dim is None:
        x, dim, keepdim = TABLE["reshape"](x, (prod(x.shape),)), 0, False
    dim, length = dim % x.ndim, x.shape[dim]
    if not length:
        ones = np.ones(tuple(1 if i == dim else n for i, n in enumerate(x.shape)), dtype=np.int64)
        x, length = Residue(point, ones, None, CONSTANT), 1
    while length > 1:
        half = length // 2
        halves = times(_slice(x, dim, 0, half), _slice(x, dim, half, 2 * half))
        x = TABLE["cat"]([halves, _slice(x, dim, length - 1, length)], dim) if length % 2 else halves
        length = half + length % 2
    return x if keepdim else TABLE["squeeze"](x, dim)


def _slice(x: Residue, dim: int, start: int, stop: int) -> Residue:
    part: Residue = TABLE["getitem"](x, (slice(None),) * dim + (slice(start, stop),))
    return part


@acts_on("cumprod")
def _cumprod(point: Point, op: Op, x: Residue, dim: int, *settings: Any) -> Residue:
    """One factor after the other."""
    if not x.ndim or not x.shape[dim]:
        return x
    dim %= x.ndim
    parts = [_slice(x, dim, 0, 1)]
    for i in range(1, x.shape[dim]):
        parts.append(times(parts[-1], _slice(x, dim, i, i + 1)))
    product: Residue = TABLE["cat"](parts, dim)
    return product


@acts_on("to")
def _to(point: Point, op: Op, x: Residue, dtype: Any) -> Residue:
    """Floats round, which the exact oracle overlooks; what is cut to integers is another number."""
    target = np.dtype(getattr(dtype, "dtype", dtype))
    if target.kind in "biuc" and not (isinstance(x, Truth) and target.kind in "biu"):
        raise Unsupported(f"residues as {target}")
    if isinstance(x, Truth) and target.kind != "b":
        return Residue(point, x.lazy_value, None, x.degree)
    return x
