"""Arithmetic of dual numbers modulo a prime: what all exact rules are written in.

Every function keeps the value, its tangent (by the sum, product and quotient rules) and the bounds on their degrees.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.autograd.ops.reducing import axes
from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.degree import CONSTANT
from gradcheck.oracles.exact.dual import Dual, lift
from gradcheck.oracles.exact.lazy_matmul import MatrixChain

#: What makes an array of two arrays, linear in each: `np.matmul`, an einsum.
Form = Callable[[np.ndarray, np.ndarray], Any]


def apply(name: str, *args: Any) -> Dual:
    """The op of this name on dual numbers."""
    result: Dual = TABLE[name](*args)
    return result


def constant(x: Dual, number: float) -> Dual:
    """A number at the point of x."""
    return lift(x.point, number)


def one(x: Dual) -> Dual:
    """1 at the point of x."""
    return Dual(x.point, np.ones((), dtype=np.int64), None, CONSTANT)


# Element by element, with broadcasting -------------------------------------------------------------


def plus(a: Dual, b: Dual, sign: int = 1) -> Dual:
    """`a + sign * b`."""
    x, y = a.value, b.value
    value = (x + y if sign > 0 else x - y) % a.point.prime
    return Dual(a.point, value, _sum_of_tangents(a, b, sign, value.shape), a.degree.plus(b.degree))


def _sum_of_tangents(a: Dual, b: Dual, sign: int, shape: tuple[int, ...]) -> np.ndarray | None:
    left, right = a.tangent, b.tangent
    if right is None:
        return left if left is None else _broadcast(left, shape)
    if left is None:
        return _broadcast(right if sign > 0 else -right % a.point.prime, shape)
    return np.asarray((left + right if sign > 0 else left - right) % a.point.prime)


def _broadcast(tangent: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return tangent if tangent.shape == shape else np.broadcast_to(tangent, shape)


def minus(a: Dual, b: Dual) -> Dual:
    """`a - b`."""
    return plus(a, b, -1)


def times(a: Dual, b: Dual) -> Dual:
    """`a * b`."""
    prime = a.point.prime
    x, y = a.value, b.value
    left, right = a.tangent, b.tangent
    tangent: np.ndarray | None = None
    if left is not None:
        tangent = left * y % prime
    if right is not None:
        tangent = x * right % prime if tangent is None else (tangent + x * right % prime) % prime
    return Dual(a.point, x * y % prime, tangent, a.degree.times(b.degree))


def reciprocal(x: Dual) -> Dual:
    """`1 / x`. Raises ZeroDivisionError where x is 0."""
    prime = x.point.prime
    value = modular.inverse(x.value, prime)
    tangent = x.tangent
    if tangent is not None:
        tangent = -(value * value % prime) * tangent % prime
    return Dual(x.point, value, tangent, x.degree.inverted())


def over(a: Dual, b: Dual) -> Dual:
    """`a / b`. Raises ZeroDivisionError where b is 0."""
    return times(a, reciprocal(b))


def squared(x: Dual) -> Dual:
    """`x * x`."""
    return times(x, x)


# Sums and products of matrices ---------------------------------------------------------------------


def summed(x: Dual, dim: Any = None, keepdim: bool = False) -> Dual:
    """The sum over these dimensions, over all for None; of a chain of matrices by products with ones, so that it is not
    multiplied out."""
    run = axes(dim, x.ndim)
    if type(x.lazy_value) is MatrixChain:
        return _sum_of_chain(x, run, keepdim)
    terms = prod(x.shape[axis] for axis in run)
    value = np.asarray(np.sum(x.value, axis=run, keepdims=keepdim) % x.point.prime)
    tangent = x.tangent
    if tangent is not None:
        tangent = np.asarray(np.sum(tangent, axis=run, keepdims=keepdim) % x.point.prime)
    return Dual(x.point, value, tangent, x.degree.summed(terms))


def _sum_of_chain(x: Dual, run: tuple[int, ...], keepdim: bool) -> Dual:
    rows, columns = x.shape
    total = x
    if 0 in run:
        total = product(Dual(x.point, np.ones((1, rows), dtype=np.int64), None, CONSTANT), total)
    if 1 in run:
        total = product(total, Dual(x.point, np.ones((columns, 1), dtype=np.int64), None, CONSTANT))
    return total if keepdim else without(total, run)


def without(x: Dual, run: tuple[int, ...]) -> Dual:
    """The tensor without these dimensions, which are of size 1."""
    return apply("reshape", x, tuple(size for axis, size in enumerate(x.shape) if axis not in run))


def product(a: Dual, b: Dual) -> Dual:
    """Of two matrices, not multiplied out yet."""
    a_moves, b_moves = a.tangent_chain(), b.tangent_chain()
    left = None if a_moves is None else a_moves @ b.value_chain()
    right = None if b_moves is None else a.value_chain() @ b_moves
    tangent: Any = left or right
    if left and right:
        tangent = (left.dense() + right.dense()) % a.point.prime
    return Dual(a.point, a.value_chain() @ b.value_chain(), tangent, a.degree.times(b.degree).summed(a.shape[1]))


def contract(form: Form, a: Dual, b: Dual, terms: int) -> Dual:
    """A bilinear form that adds `terms` products into each element."""
    prime = a.point.prime
    value = modular.bilinear(form, a.value, b.value, terms, prime)
    tangent: np.ndarray | None = None
    if a.tangent is not None:
        tangent = modular.bilinear(form, a.tangent, b.value, terms, prime)
    if b.tangent is not None:
        right = modular.bilinear(form, a.value, b.tangent, terms, prime)
        tangent = right if tangent is None else (tangent + right) % prime
    return Dual(a.point, value, tangent, a.degree.times(b.degree).summed(terms))
