"""Sums, extremes, variances, softmax and running sums over dimensions; products of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.autograd.compiled.specialized.entries import PREPARED, Function, is_float, prepares
from gradcheck.autograd.compiled.straight_line_code import SMALL, spreading
from gradcheck.autograd.op import TABLE
from gradcheck.autograd.ops.common.dims import axes, canonical, count

_sum: Any = np.add.reduce
_max: Any = np.maximum.reduce
_min: Any = np.minimum.reduce
_max_at: Any = np.maximum.reduceat
_product: Any = np.multiply.reduce
_count: Any = np.bincount
_divide, _subtract, _exp, _log = np.true_divide, np.subtract, np.exp, np.log


def _row_sums(x: Any, axis: int) -> Function | None:
    """What adds up a small array along `axis`, as an array of one dimension, by NumPy's quickest call for few numbers;
    None where that is none, or may add them up in another order: of eight and more not one after the other."""
    if x.dtype != np.float64 or not 0 < x.size <= SMALL or x.shape[axis] >= 8:
        return None
    rows = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    places = np.broadcast_to(np.arange(x.size // x.shape[axis]).reshape(rows), x.shape).ravel()
    return lambda x: _count(places, x.ravel())


def _sums(x: Any, run: tuple[int, ...], keepdim: bool) -> Function:
    """What adds up an array along the axes that are `run`."""
    quick = _row_sums(x, run[0]) if len(run) == 1 else None
    if quick is None:
        return lambda x: _sum(x, run, None, None, keepdim)
    shape = _sum(x, run, None, None, keepdim).shape
    return quick if len(shape) == 1 else lambda x: quick(x).reshape(shape)


@prepares("sum")
def _(x: Any, dim: Any, keepdim: bool, dtype: Any) -> Function | None:
    return _sums(x, axes(dim, x.ndim), keepdim) if is_float(x, dtype) else None


@prepares("mean")
def _(x: Any, dim: Any, keepdim: bool, dtype: Any) -> Function | None:
    if not is_float(x, dtype):
        return None
    sums, number = _sums(x, axes(dim, x.ndim), keepdim), count(x, dim)
    return lambda x: _divide(sums(x), number)


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
    places = spreading(_sum(x, run, None, None, True).shape, x.shape)
    kept_sums, sums = _sums(x, run, True), _sums(x, run, keepdim)

    def variance(x: Any) -> Any:
        centre = _divide(kept_sums(x), number)
        distance = _subtract(x, centre if places is None else centre.ravel()[places])
        np.abs(distance, distance)
        return _divide(sums(np.square(distance, distance)), freedom)

    return variance if x.dtype == np.float64 else None


def _rows(x: Any, axis: int) -> tuple[Any, Function, Function]:
    """Which place of a row's number each element takes, if the array is small, else None; and what finds the largest
    of each row along `axis`, and each row's sum, as arrays of one dimension."""
    places = spreading((*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.shape)
    sums = _row_sums(x, axis) or (lambda x: _sum(x, axis).ravel())
    if axis < x.ndim - 1:
        return places, lambda x: _max(x, axis).ravel(), sums
    starts = np.arange(0, x.size, x.shape[axis])
    return places, lambda x: _max_at(x.ravel(), starts), sums


@prepares("softmax")
def _(x: Any, dim: int, dtype: Any) -> Function | None:
    if not (x.size and x.ndim and is_float(x, dtype)):
        return None
    axis = canonical(dim, x.ndim)
    places, largest, sums = _rows(x, axis)

    def softmax(x: Any) -> Any:
        scores = _subtract(x, _max(x, axis, None, None, True))
        raised = _exp(scores, scores)
        return _divide(raised, _sum(raised, axis, None, None, True), raised)

    def of_few(x: Any) -> Any:
        scores = largest(x)[places]
        raised = _exp(_subtract(x, scores, scores), scores)
        return _divide(raised, sums(raised)[places], raised)

    return softmax if places is None else of_few


@prepares("log_softmax")
def _(x: Any, dim: int, dtype: Any) -> Function | None:
    if not (x.size and x.ndim and is_float(x, dtype)):
        return None
    axis = canonical(dim, x.ndim)
    places, largest, sums = _rows(x, axis)

    def log_softmax(x: Any) -> Any:
        scores = _subtract(x, _max(x, axis, None, None, True))
        return _subtract(scores, _log(_sum(_exp(scores), axis, None, None, True)), scores)

    def of_few(x: Any) -> Any:
        scores = largest(x)[places]
        _subtract(x, scores, scores)
        return _subtract(scores, _log(sums(_exp(scores)))[places], scores)

    return log_softmax if places is None else of_few


@prepares("logsumexp")
def _(x: Any, dim: Any, keepdim: bool) -> Function | None:
    if not (x.size and x.ndim and is_float(x)) or type(dim) is not int:
        return None
    axis = canonical(dim, x.ndim)
    kept = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    places = spreading(kept, x.shape)
    shape = kept if keepdim else (*kept[:axis], *kept[axis + 1 :])
    add_up = _sums(x, (axis,), True)

    def logsumexp(x: Any) -> Any:
        shift = _max(x, axis, None, None, True)
        np.putmask(shift, ~np.isfinite(shift), 0)
        scores = _subtract(x, shift if places is None else shift.ravel()[places])
        sums = add_up(_exp(scores, scores))
        return np.add(_log(sums, sums), shift, sums).reshape(shape)

    return logsumexp


@prepares("std")
def _(x: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Function | None:
    variance = PREPARED[TABLE["var"].forward](x, dim, unbiased, keepdim, correction)
    return variance and (lambda x: np.sqrt(variance(x)))


@prepares("cumprod")
def _(x: Any, dim: int, dtype: Any) -> Function | None:
    axis = canonical(dim, x.ndim)
    return (lambda x: np.multiply.accumulate(x, axis)) if x.ndim and is_float(x, dtype) else None


@prepares("argmax")
def _(x: Any, dim: Any, keepdim: bool) -> Function | None:
    if type(dim) is not int or not x.ndim or not x.size:
        return None
    axis = canonical(dim, x.ndim)
    return lambda x: x.argmax(axis, keepdims=keepdim)


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
