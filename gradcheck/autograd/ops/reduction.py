"""Sums, products, means and spreads over dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.modes import default_dtype
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.cast import to
from gradcheck.autograd.ops.exponential import exp
from gradcheck.autograd.ops.extrema import where
from gradcheck.autograd.ops.kinds import refuse_complex, require_floating
from gradcheck.autograd.ops.reducing import accumulate, axes, count, restored
from gradcheck.autograd.ops.scan import exclusive_products
from gradcheck.autograd.ops.shape import expand, reshape
from gradcheck.errors import ArgumentError


def _spread(g: Any, x: Any, dim: Any, keepdim: bool) -> Any:
    return expand(restored(g, x, dim, keepdim), x.shape)


def _shapes(name: str, *last: str) -> tuple[str, ...]:
    """Calls that cover the forms of `dim` and `keepdim`, and empty and 0-d tensors."""
    return (
        f"randn(2, 3).{name}()",
        f"{name}(randn(2, 3, 2), 1)",
        f"{name}(randn(2, 3), dim=-1, keepdim=True)",
        f"{name}(randn(()))",
        f"{name}(randn(()), 0)",
        f"{name}(randn(0, 3), 1)",
        f"{name}(randn(1, 3), 0)",
        *last,
    )


_SEVERAL = "{0}(randn(2, 3, 2), (0, -1))", "{0}(randn(2, 3), axis=[0, 1], keepdims=True)", "{0}(randn(2, 3), ())"


def _several(name: str) -> tuple[str, ...]:
    return tuple(sample.format(name) for sample in _SEVERAL)


# Sums and means ------------------------------------------------------------------------------------


@op(
    lambda g, y, x, dim, keepdim, dtype: _spread(g, x, dim, keepdim),
    rounds=True,
    samples=_shapes(
        "sum",
        *_several("sum"),
        "sum(randint(0, 5, [2, 3]))",
        "sum(randn(2, 3) > 0)",
        "sum(randn(2, 3), dtype=torch.float32)",
        "sum(complex(randn(2), randn(2)))",
        "sum(randn(0, 3), 0)",
        "sum(randn(0))",
    ),
    analytic=True,
)
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over the dimensions of `dim`, or over all; integers and booleans count in int64."""
    run = axes(dim, input.ndim)
    return accumulate(lambda x: np.sum(x, axis=run, keepdims=keepdim), input, dtype)


@op(
    lambda g, y, x, dim, keepdim, dtype: _spread(g, x, dim, keepdim) / count(x, dim),
    rounds=True,
    samples=_shapes(
        "mean",
        *_several("mean"),
        "mean(randint(0, 5, [2, 3]), dtype=torch.float64)",
        "mean(complex(randn(2), randn(2)))",
        "mean(randn(0, 3), 0)",
    ),
    analytic=True,
)
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean over the dimensions of `dim`, or over all, of floating or complex numbers; NaN of none."""
    run, number = axes(dim, input.ndim), count(input, dim)
    if dtype is None:
        require_floating("mean", input)
    return accumulate(lambda x: np.true_divide(np.sum(x, axis=run, keepdims=keepdim), number), input, dtype)


@composite(samples=("nansum(tensor([[1.0, nan], [2.0, 3.0]]), 1)", "nansum(randn(2, 3))"))
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """`sum`, counting NaN as 0."""
    refuse_complex("nansum", input)
    return sum(where(input != input, 0, input), dim, keepdim, dtype=dtype)


@composite(samples=("nanmean(tensor([[1.0, nan], [2.0, 3.0]]), 1)", "nanmean(randn(2, 3))"))
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean of the elements that are not NaN."""
    return nansum(input, dim, keepdim, dtype=dtype) / sum(input == input, dim, keepdim)


# Products ------------------------------------------------------------------------------------------


def _prod_rule(g: Any, y: Any, x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """The cotangent times the product of all other elements, which no zero can spoil."""
    x = x if dtype is None else to(x, y.dtype)
    if dim is None:
        flat = reshape(x, (count(x, None),))
        return g * reshape(exclusive_products(flat, 0), x.shape)
    return restored(g, x, dim, keepdim) * exclusive_products(x, axes(dim, x.ndim)[0] if x.ndim else 0)


@op(
    _prod_rule,
    rounds=True,
    samples=_shapes(
        "prod",
        "prod(tensor([2.0, 0.0, 3.0]))",
        "prod(tensor([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]]), 1)",
        "prod(tensor([[2.0, 0.0], [0.0, 1.0], [5.0, 3.0]]))",
        "prod(randint(1, 5, [2, 3]))",
        "prod(randn(2, 3), dtype=torch.float32)",
        "prod(complex(randn(3), randn(3)))",
        "prod(randn(0))",
    ),
    analytic=True,
)
def prod(input: Any, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product over one dimension, or of all elements."""
    if isinstance(dim, (tuple, list)):
        raise ArgumentError("prod takes one dimension, not several")
    run = axes(dim, input.ndim)
    keep = keepdim and dim is not None
    return accumulate(lambda x: np.prod(x, axis=run, keepdims=keep), input, dtype)


# Spreads -------------------------------------------------------------------------------------------


def _forms(dim: Any, unbiased: bool | None, correction: float | None) -> tuple[Any, float]:
    """The dimensions and the correction, from torch's old and new ways to say them: `std(False)`, `std(0, False)`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    return dim, correction


def _var_rule(g: Any, y: Any, x: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Any:
    dim, correction = _forms(dim, unbiased, correction)
    freedom = max(0, count(x, dim) - correction)
    return restored(g, x, dim, keepdim) * (x - mean(x, dim, True)) * 2 / freedom


def _std_rule(g: Any, y: Any, x: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Any:
    """0 where the deviation is 0, as in torch."""
    slope = where(y == 0, 0, g / (2 * where(y == 0, 1, y)))
    return _var_rule(slope, y, x, dim, unbiased, keepdim, correction)


def _spreads(name: str) -> tuple[str, ...]:
    return (
        f"randn(2, 3).{name}()",
        f"{name}(randn(2, 3, 2), 1)",
        f"{name}(randn(2, 3), dim=-1, keepdim=True)",
        f"{name}(randn(2, 3, 2), (0, 2))",
        f"{name}(randn(2, 3), 0, correction=0)",
        f"{name}(randn(3, 4), correction=2)",
        f"{name}(randn(2, 3), unbiased=False)",
        f"{name}(randn(2, 3), 1, False)",
        f"{name}(randn(2, 3), 1, True, True)",
        f"{name}(complex(randn(2, 3), randn(2, 3)), 1)",
        f"{name}(randn(1, 3), 1)",
        f"{name}(randn(1, 3), 0)",
        f"{name}(randn(0, 3), 0)",
        f"{name}(tensor([[1.0, 1.0], [1.0, 2.0]]), 1)",
    )


@op(_var_rule, holomorphic=False, samples=_spreads("var"))
def var(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None
) -> Any:
    """The variance: squared distances to the mean, added up and divided by the count less `correction`, 1."""
    require_floating("var", input)
    dim, correction = _forms(dim, unbiased, correction)
    run, freedom = axes(dim, input.ndim), max(0, count(input, dim) - correction)
    centre = np.true_divide(np.sum(input, axis=run, keepdims=True), count(input, dim))
    squares = np.square(np.abs(input - centre))
    return np.true_divide(np.sum(squares, axis=run, keepdims=keepdim), freedom).astype(squares.dtype, copy=False)


@op(_std_rule, holomorphic=False, kinks="where all are equal; the gradient is 0", samples=_spreads("std"))
def std(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None
) -> Any:
    """The standard deviation, the square root of `var`."""
    require_floating("std", input)
    return np.sqrt(var.forward(input, dim, unbiased, keepdim, correction))


@composite(samples=("var_mean(randn(2, 3), 1)", "var_mean(randn(2, 3), correction=0)"))
def var_mean(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None
) -> Any:
    """The variance and the mean."""
    run, _ = _forms(dim, unbiased, correction)
    return var(input, dim, unbiased, keepdim, correction=correction), mean(input, run, keepdim)


@composite(samples=("std_mean(randn(2, 3), 1)", "std_mean(randn(2, 3), correction=0)"))
def std_mean(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None
) -> Any:
    """The standard deviation and the mean."""
    run, _ = _forms(dim, unbiased, correction)
    return std(input, dim, unbiased, keepdim, correction=correction), mean(input, run, keepdim)


# Log-sum-exp ---------------------------------------------------------------------------------------


def _logsumexp_rule(g: Any, y: Any, x: Any, dim: Any, keepdim: bool) -> Any:
    return restored(g, x, dim, keepdim) * exp(x - restored(y, x, dim, keepdim))


@op(
    _logsumexp_rule,
    aliases=("special.logsumexp",),
    samples=(
        "logsumexp(randn(2, 3), 1)",
        "randn(2, 3).logsumexp(dim=0, keepdim=True)",
        "logsumexp(randn(2, 3, 2), (0, 2))",
        "logsumexp(randn(()), 0)",
        "logsumexp(randn(0, 3), 0)",
        "logsumexp(tensor([1000.0, 999.0, -1000.0]), 0)",
        "logsumexp(tensor([[-inf, -inf], [-inf, 1.0], [inf, 1.0], [nan, 1.0]]), 1)",
        "logsumexp(randint(0, 5, [2, 3]), 1)",
    ),
    analytic=True,
)
def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Any:
    """`log(sum(exp(input)))` over `dim`, without overflow."""
    run = axes(dim, input.ndim)
    x = input.astype(default_dtype()) if input.dtype.kind in "biu" else input
    largest = np.max(x.real, axis=run, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(largest), largest, 0).astype(largest.dtype, copy=False)
    total = np.log(np.sum(np.exp(x - shift), axis=run, keepdims=True)) + shift
    return total if keepdim else np.squeeze(total, axis=run)
