"""Sums, means, variances, products and norms over dimensions."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.autograd.ops.reducing import axes, count
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact.algebra import apply, constant, minus, over, squared, summed, times
from gradcheck.oracles.exact.degree import CONSTANT
from gradcheck.oracles.exact.dual import Dual, exact_rule, lift
from gradcheck.oracles.exact.ops.power import root


@exact_rule("sum")
def _sum(op: Op, x: Dual, dim: Any = None, keepdim: bool = False, *settings: Any) -> Dual:
    return summed(x, dim, keepdim)


@exact_rule("mean")
def _mean(op: Op, x: Dual, dim: Any = None, keepdim: bool = False, *settings: Any) -> Dual:
    return over(summed(x, dim, keepdim), constant(x, count(x, dim)))


@exact_rule("var", "std")
def _variance(op: Op, x: Dual, dim: Any, unbiased: bool | None, keepdim: bool, correction: float | None) -> Dual:
    """The mean square of what differs from the mean, over `n - correction`; its root."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 0 if unbiased is False else 1
    number = count(x, dim)
    centred = minus(x, over(summed(x, dim, True), constant(x, number)))
    squares = summed(squared(centred), dim, keepdim)
    variance = over(squares, constant(x, max(0, number - correction)))
    return variance if op.name == "var" else root(variance)


@exact_rule("prod")
def _prod(op: Op, x: Dual, dim: Any = None, keepdim: bool = False, *settings: Any) -> Dual:
    """By halves along the dimension, so that the rounds are few."""
    if not x.ndim:
        return x
    if dim is None:
        x, dim, keepdim = apply("reshape", x, (prod(x.shape),)), 0, False
    dim, length = dim % x.ndim, x.shape[dim]
    if not length:
        ones = np.ones(tuple(1 if i == dim else n for i, n in enumerate(x.shape)), dtype=np.int64)
        x, length = Dual(x.point, ones, None, CONSTANT), 1
    while length > 1:
        half = length // 2
        halves = times(_slice(x, dim, 0, half), _slice(x, dim, half, 2 * half))
        x = apply("cat", [halves, _slice(x, dim, length - 1, length)], dim) if length % 2 else halves
        length = half + length % 2
    return x if keepdim else apply("squeeze", x, dim)


def _slice(x: Dual, dim: int, start: int, stop: int) -> Dual:
    return apply("getitem", x, (slice(None),) * dim + (slice(start, stop),))


@exact_rule("cumprod")
def _cumprod(op: Op, x: Dual, dim: int, *settings: Any) -> Dual:
    """One factor after the other."""
    if not x.ndim or not x.shape[dim]:
        return x
    dim %= x.ndim
    parts = [_slice(x, dim, 0, 1)]
    for i in range(1, x.shape[dim]):
        parts.append(times(parts[-1], _slice(x, dim, i, i + 1)))
    return apply("cat", parts, dim)


@exact_rule("linalg.vector_norm")
def _norm(op: Op, x: Dual, order: Any, dim: Any, keepdim: bool, dtype: Any) -> Dual:
    run = list(axes(dim, x.ndim))
    if order == 2:
        return root(summed(squared(x), run, keepdim) if x.ndim else squared(x))
    if order == 1:
        return summed(apply("abs", x), run, keepdim)
    if order in (np.inf, -np.inf):
        return apply("amax" if order > 0 else "amin", apply("abs", x), run, keepdim)
    if order == 0:
        return summed(lift(x.point, np.ones(x.shape)), run, keepdim)
    raise Unsupported(f"a norm of order {order}")
