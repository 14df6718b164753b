"""Sums, extremes, variances, softmax and running sums over dimensions; products of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.autograd.ops.common.dims import axes, canonical, count
from gradcheck.autograd.prepared.entries import Function, is_float, prepares

_sum: Any = np.add.reduce
_max: Any = np.maximum.reduce
_min: Any = np.minimum.reduce
_product: Any = np.multiply.reduce
_divide, _subtract, _exp, _log = np.true_divide, np.subtract, np.exp, np.log


@prepares("sum")
def _(x: Any, dim: Any, keepdim: bool, dtype: Any) -> Function | None:
    run = axes(dim, x.ndim)
    return (lambda x: _sum(x, run, None, None, keepdim)) if is_float(x, dtype) else None


@prepares("mean")
def _(x: Any, dim: Any, keepdim: bool, dtype: Any) -> Function | None:
    run, number = axes(dim, x.ndim), count(x, dim)
    return (lambda x: _divide(_sum(x, run, None, None, keepdim), number)) if is_float(x, dtype) else None


@prepares("prod")
def _(x: Any, dim: Any, keepdim: bool, dtype: Any) -> Function | None:
    run, keep = axes(dim, x.ndim), keepdim and dim is not None
    return (lambda x: _product(x, run, None, None, keep)) if is_float(x, dtype) else None


def _extreme(reduce: Any) -> Callable[..., Function]:
    def prepare(x: Any, dim: Any, keepdim: bool) -> Function:
        run = axes(dim, x.ndim)
        return lambda x: reduce(x, run, None, None, keepdim)

    return prepare


prepares("amax")(_extreme(_max))
prepares("amin")(_extreme(_min))


@prepares("var")
def _(x: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Function | None:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    run, number = axes(dim, x.ndim), count(x, dim)
    freedom = max(0, number - correction)

    def variance(x: Any) -> Any:
        distance = np.abs(x - _divide(_sum(x, run, None, None, True), number))
        return _divide(_sum(np.square(distance), run, None, None, keepdim), freedom)

    return variance if x.dtype == np.float64 else None


@prepares("softmax")
def _(x: Any, dim: int, dtype: Any) -> Function | None:
    axis = canonical(dim, x.ndim)

    def softmax(x: Any) -> Any:
        scores = _subtract(x, _max(x, axis, None, None, True))
        raised = _exp(scores, scores)
        return _divide(raised, _sum(raised, axis, None, None, True), raised)

    return softmax if x.size and x.ndim and is_float(x, dtype) else None


@prepares("log_softmax")
def _(x: Any, dim: int, dtype: Any) -> Function | None:
    axis = canonical(dim, x.ndim)

    def log_softmax(x: Any) -> Any:
        scores = _subtract(x, _max(x, axis, None, None, True))
        return _subtract(scores, _log(_sum(_exp(scores), axis, None, None, True)), scores)

    return log_softmax if x.size and x.ndim and is_float(x, dtype) else None


@prepares("cumsum")
def _(x: Any, dim: int, dtype: Any) -> Function | None:
    axis = canonical(dim, x.ndim)
    return (lambda x: np.add.accumulate(x, axis)) if x.ndim and is_float(x, dtype) else None


@prepares("matmul")
def _(a: Any, b: Any) -> Function | None:
    if a.ndim != 2 or b.ndim != 2 or not is_float(a):
        return None

    def product(a: Any, b: Any) -> Any:
        return a.dot(b) if a.flags.forc and b.flags.forc else np.matmul(a, b)

    return product
