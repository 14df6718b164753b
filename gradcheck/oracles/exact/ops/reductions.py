"""Sums, means, variances, norms and products over dimensions; any, all."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.autograd.ops.common.arguments import sum_over
from gradcheck.autograd.ops.common.dims import count_reduced, reduced_axes
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact.degree import CONSTANT
from gradcheck.oracles.exact.dual_numbers import Dual, Indicator, exact_rule, lift
from gradcheck.oracles.exact.modular_matrices import MatrixChain, ones
from gradcheck.oracles.exact.ops.elementwise import as_indicators
from gradcheck.oracles.exact.ops.matrices import product


@exact_rule("sum")
def sum_axes(x: Dual, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Dual:
    """Return the sum over these dimensions; a chain of matrices stays one."""
    run = reduced_axes(dim, x.ndim)
    if type(x.lazy_value) is MatrixChain and x.ndim == 2:
        return _sum_of_chain(x, run, keepdim)
    terms = prod(x.shape[axis] for axis in run)
    value = np.asarray(sum_over(x.value, run, keepdim) % x.point.prime)
    tangent = x.tangent
    if tangent is not None:
        tangent = np.asarray(sum_over(tangent, run, keepdim) % x.point.prime)
    return Dual(x.point, value, tangent, x.degree.summed(terms))


def _sum_of_chain(x: Dual, run: tuple[int, ...], keepdim: bool) -> Dual:
    rows, columns = x.shape
    result = x
    if 0 in run:
        result = product(_vector_of_ones(x, 1, rows), result)
    if 1 in run:
        result = product(result, _vector_of_ones(x, columns, 1))
    return result if keepdim else drop_dims(result, run)


def _vector_of_ones(x: Dual, rows: int, columns: int) -> Dual:
    return Dual(x.point, MatrixChain((ones(rows, columns, x.point.prime),)), None, CONSTANT)


def drop_dims(x: Dual, run: tuple[int, ...]) -> Dual:
    """Return the tensor without these dimensions, which are of size 1."""
    shape = tuple(size for axis, size in enumerate(x.shape) if axis not in run)
    tangent = None if x.lazy_tangent is None else x.lazy_tangent.reshape(shape)
    return Dual(x.point, x.lazy_value.reshape(shape), tangent, x.degree)


@exact_rule("var")
def _var(x: Dual, dim: Any, unbiased: bool | None, keepdim: bool, correction: float | None) -> Dual:
    """Return the mean square of deviations, over `n - correction`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 0 if unbiased is False else 1
    number = count_reduced(x, dim)
    centred = x - sum_axes(x, dim, True) / number
    return sum_axes(centred * centred, dim, keepdim) / max(0, number - correction)


@exact_rule("prod")
def _prod(x: Dual, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """Return the product by halves along the dimension, in few rounds."""
    if not x.ndim:
        return x
    if dim is None:
        x, dim, keepdim = x.reshape(prod(x.shape)), 0, False
    dim, length = dim % x.ndim, x.shape[dim]
    if not length:
        shape = tuple(1 if i == dim else n for i, n in enumerate(x.shape))
        x, length = Dual(x.point, np.ones(shape, dtype=np.int64), None, CONSTANT), 1
    while length > 1:
        half = length // 2
        halves = x.narrow(dim, 0, half) * x.narrow(dim, half, half)
        x = TABLE["cat"]([halves, x.narrow(dim, length - 1, 1)], dim) if length % 2 else halves
        length = half + length % 2
    return x if keepdim else x.squeeze(dim)


@exact_rule("all")
def _all(c: Dual, dim: Any = None, keepdim: bool = False) -> Indicator:
    product: Dual
    (product,) = as_indicators(c)
    for axis in sorted(reduced_axes(dim, c.ndim), reverse=True):
        product = product.prod(axis, keepdim)
    return Indicator(c.point, product.value, None, product.degree)


exact_rule("mean")(lambda x, dim, keepdim, dtype: sum_axes(x, dim, keepdim) / count_reduced(x, dim))
exact_rule("std")(lambda *args: _var(*args).sqrt())
exact_rule("any")(lambda c, dim, keepdim: ~_all(~as_indicators(c)[0], dim, keepdim))


@exact_rule("cumprod")
def _cumprod(x: Dual, dim: int, dtype: Any) -> Any:
    if not x.ndim or not x.shape[dim]:
        return x
    parts = [x.narrow(dim, 0, 1)]
    for i in range(1, x.shape[dim]):
        parts.append(parts[-1] * x.narrow(dim, i, 1))
    return TABLE["cat"](parts, dim)


@exact_rule("linalg.vector_norm")
def _norm(x: Dual, order: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    run = list(reduced_axes(dim, x.ndim))
    if order == 2:
        return (sum_axes(x * x, run, keepdim) if x.ndim else x * x).sqrt()
    if order == 1:
        return sum_axes(x.abs(), run, keepdim)
    if order in (np.inf, -np.inf):
        return TABLE["amax" if order > 0 else "amin"](x.abs(), run, keepdim)
    if order == 0:
        return sum_axes(_nonzero_mask(x), run, keepdim)
    raise Unsupported(f"a norm of order {order}")


def _nonzero_mask(x: Dual) -> Dual:
    """Return 1 for each element that is not 0, but at single points."""
    return lift(x.point, x.primal() != 0)


exact_rule("count_nonzero")(lambda x, dim: sum_axes(_nonzero_mask(x), dim))
