"""`torch.masked.*`: reductions, scans and softmax where `mask` is true.

Masked elements count as neutral: 0 in a sum, 1 in a product, an infinity among extremes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtypes import named
from gradcheck.autograd.op import Op, composite
from gradcheck.autograd.ops.common.dims import canonical_dim, reduced_axes
from gradcheck.errors import DtypeMismatch, ShapeMismatch

_M = "tensor([[True, False, True], [False, True, True]])"
_ALONG = f"{{}}(randn(2, 3), 1); {{}}(randn(2, 3), 1, mask={_M})"


def _mask(input: Any, mask: Any) -> Any:
    if mask is None:
        return None
    if mask.dtype.kind != "b":
        raise DtypeMismatch(f"a mask is made of booleans, not of {mask.dtype}")
    if mask.ndim > input.ndim:
        raise ShapeMismatch(f"a mask of shape {list(mask.shape)} does not go with {list(input.shape)}")
    return mask if tuple(mask.shape) == tuple(input.shape) else ops.broadcast_to(mask, tuple(input.shape))


def _cast_input(input: Any, dtype: Any, *, whole: bool = False) -> Any:
    """Cast to `dtype`; by default, summed integers (`whole`) to int64."""
    natural = np.dtype(np.int64) if whole and input.dtype.kind in "biu" else input.dtype
    target = named(dtype, natural)
    return input if target == input.dtype else ops.to(input, target)


def _fill_masked(input: Any, mask: Any, fill: float) -> Any:
    found = _mask(input, mask)
    return input if found is None else ops.where(found, input, fill)


def _dims(input: Any, dim: Any) -> tuple[int, ...]:
    return reduced_axes(dim, input.ndim) if input.ndim else ()


def _reduce_over(input: Any, dim: Any, keepdim: bool, reduce: Callable[..., Any]) -> Any:
    """Reduce over `dim`, as torch over all dimensions for None and ()."""
    run = _dims(input, dim)
    return reduce(input, run, keepdim) if run else input * 1


def _count_unmasked(input: Any, dim: Any, keepdim: bool, mask: Any) -> Any:
    """Return how many elements take part in each result."""
    run, found = _dims(input, dim), _mask(input, mask)
    ones = ops.ones_like(ops.detach(input), dtype=np.dtype(np.int64))
    taken = ones if found is None else ops.where(found, ones, 0)
    return ops.sum(taken, run, keepdim) if run else taken


def _entry(name: str, doc: str, samples: str = "", kinks: str = "") -> Callable[[Callable[..., Any]], Op]:
    calls = (
        samples or f"{{}}(randn(2, 3), 1); {{}}(randn(2, 3), 0, mask={_M}); {{}}(randn(2, 3), keepdim=True, mask={_M})"
    )
    return composite(name=f"masked.{name}", doc=doc, method=False, samples=calls, kinks=kinks)


def _product(input: Any, run: tuple[int, ...], keepdim: bool) -> Any:
    for axis in sorted(run, reverse=True):
        input = ops.prod(input, axis, keepdim)
    return input


def _reduction(name: str, doc: str, reduce: Callable[..., Any], fill: float, **traits: Any) -> None:
    """Enter a reduction with a fill; without kinks, integers become int64."""

    @_entry(name, doc, **traits)
    def masked(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
        return _reduce_over(_fill_masked(_cast_input(input, dtype, whole=not traits), mask, fill), dim, keepdim, reduce)


_reduction("sum", "The sum of the elements where `mask` is true.", ops.sum, 0)
_reduction("prod", "The product of the elements where `mask` is true.", _product, 1)
_reduction("amax", "The largest element where `mask` is true, -inf of none.", ops.amax, -math.inf, kinks="ties")
_reduction("amin", "The smallest element where `mask` is true, inf of none.", ops.amin, math.inf, kinks="ties")


@_entry("mean", "The mean of the elements where `mask` is true, NaN of none.")
def _mean(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    values = _cast_input(input, dtype)
    return _reduce_over(_fill_masked(values, mask, 0), dim, keepdim, ops.sum) / _count_unmasked(
        values, dim, keepdim, mask
    )


@_entry("median", "The lower of the two middle elements where `mask` is true, NaN of none.",
        f"{_ALONG}; {{}}(randn(2, 3), 1, keepdim=True)", "ties")  # fmt: skip
def _median(input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    filled = _fill_masked(_cast_input(input, dtype), mask, math.nan)
    return ops.nanmedian(filled, dim, keepdim)[0]


@_entry("norm", "The norm of the elements where `mask` is true.",
        f"{{}}(randn(2, 3), 2, 1); {{}}(randn(2, 3), 3, 0, mask={_M}); {{}}(randn(2, 3), inf, mask={_M})",
        "0")  # fmt: skip
def _norm(
    input: Any, ord: Any = 2.0, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Any:
    order = 2.0 if ord is None else ord
    filled = _fill_masked(_cast_input(input, dtype), mask, math.inf if order < 0 else 0)
    return getattr(ops, "linalg.vector_norm")(filled, order, _dims(input, dim) or None, keepdim)


def _masked_variance(input: Any, dim: Any, correction: Any, keepdim: bool, mask: Any) -> Any:
    counts = _count_unmasked(input, dim, True, mask)
    center = _reduce_over(_fill_masked(input, mask, 0), dim, True, ops.sum) / counts
    away = input - center
    squares = _fill_masked(away * ops.conj(away) if input.dtype.kind == "c" else away * away, mask, 0)
    total, counts = _reduce_over(squares, dim, keepdim, ops.sum), _count_unmasked(input, dim, keepdim, mask)
    if correction:
        counts = ops.clamp(ops.to(counts, ops.real(total).dtype) - correction, min=0)
    return total / counts


_SPREADS = f"{{}}(randn(2, 3), 1); {{}}(randn(2, 3), 1, False, mask={_M}); {{}}(randn(2, 3), mask={_M}, keepdim=True)"


@_entry("var", "The variance of the elements where `mask` is true.", _SPREADS)
def _var(
    input: Any, dim: Any = None, unbiased: Any = None, *, correction: Any = None, keepdim: bool = False,
    dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    return _masked_variance(_cast_input(input, dtype), dim, _correction(unbiased, correction), keepdim, mask)


@_entry("std", "The standard deviation of the elements where `mask` is true.", _SPREADS, "0")
def _std(
    input: Any, dim: Any = None, unbiased: Any = None, *, correction: Any = None, keepdim: bool = False,
    dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    return ops.sqrt(_masked_variance(_cast_input(input, dtype), dim, _correction(unbiased, correction), keepdim, mask))


def _correction(unbiased: Any, correction: Any) -> Any:
    """Return the correction, 1 by default."""
    return correction if correction is not None else int(unbiased is None or bool(unbiased))


# Running, and normalized -----------------------------------------------------------------------------


def _along(name: str, doc: str, fill: float, whole: bool = False) -> None:
    @_entry(name, doc, _ALONG)
    def masked(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
        return getattr(ops, name)(_fill_masked(_cast_input(input, dtype, whole=whole), mask, fill), dim)


_along("cumsum", "Running sums of the elements where `mask` is true.", 0, whole=True)
_along("cumprod", "Running products of the elements where `mask` is true.", 1, whole=True)
_along("softmax", "`softmax` over the elements where `mask` is true.", -math.inf)
_along("log_softmax", "The logarithm of `softmax` over the elements where `mask` is true.", -math.inf)
_along("softmin", "`softmin` over the elements where `mask` is true.", math.inf)


@_entry("normalize", "Divided by the norm of the elements along `dim` where `mask` is true, 0 elsewhere.",
        f"{{}}(randn(2, 3), 2.0, 1); {{}}(randn(2, 3), 3.0, 0, mask={_M})", "0")  # fmt: skip
def _normalize(input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None) -> Any:
    values = _cast_input(input, dtype)
    size = _norm(values, ord, canonical_dim(dim, input.ndim), keepdim=True, mask=mask)
    return _fill_masked(values, mask, 0) / ops.maximum(size, ops.full_like(size, eps))


@_entry("logsumexp", "The logarithm of the sum of the exponentials where `mask` is true, -inf of none.")
def _logsumexp(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    values = _cast_input(input, dtype)
    return ops.logsumexp(_fill_masked(values, mask, -math.inf), _dims(values, dim), keepdim)


@composite(
    name="masked.logaddexp",
    method=False,
    samples=f"""{{}}(randn(2, 3), randn(2, 3)); {{}}(randn(2, 3), randn(2, 3), input_mask={_M});
        {{}}(randn(2, 3), randn(2, 3), input_mask={_M}, other_mask={_M})""",
)
def _logaddexp(input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None) -> Any:
    """`log(exp(input) + exp(other))`, where the masks are true."""
    a, b = (_fill_masked(_cast_input(x, dtype), m, -math.inf) for x, m in ((input, input_mask), (other, other_mask)))
    return ops.logaddexp(a, b)
