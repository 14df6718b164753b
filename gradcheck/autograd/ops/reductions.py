"""Sums, products, means and variances; `all` and `any`.

`var` takes two passes, the mean first, which loses least to cancellation (Chan, Golub, LeVeque: Algorithms for
computing the sample variance, 1983).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.dtype_sets import FLOATING, REAL, REAL_FLOATING
from gradcheck.autograd.op import composite, linear, op
from gradcheck.autograd.ops.common.arguments import accumulate, refuse_complex, require_floating, sum_over
from gradcheck.autograd.ops.common.dims import count_reduced, reduced_axes, restore_reduced_dims
from gradcheck.autograd.ops.comparison_where import where
from gradcheck.autograd.ops.cumulative_sums import exclusive_products
from gradcheck.autograd.ops.expansion import expand
from gradcheck.autograd.ops.shape_casts import reshape, to
from gradcheck.errors import ArgumentError


def _expand_cotangent(g: Any, x: Any, dim: Any, keepdim: bool) -> Any:
    return expand(restore_reduced_dims(g, x, dim, keepdim), x.shape)


#: Calls that cover the forms of `dim` and `keepdim`, and empty and 0-d tensors.
_SAMPLES = """
    randn(2, 3).{}(); {}(randn(2, 3, 2), 1); {}(randn(2, 3), dim=-1, keepdim=True); {}(randn(())); {}(randn(()), 0);
    {}(randn(0, 3), 1); {}(randn(1, 3), 0)
"""
#: Calls over several dimensions at once.
_SEVERAL = "{}(randn(2, 3, 2), (0, -1)); {}(randn(2, 3), axis=[0, 1], keepdims=True); {}(randn(2, 3), ())"


# Sums and means ------------------------------------------------------------------------------------


@linear(
    lambda g, y, x, dim, keepdim, dtype: _expand_cotangent(g, x, dim, keepdim),
    rounds=True,
    latex=r"\sum #",
    samples=f"""{_SAMPLES}; {_SEVERAL};
        sum(randint(0, 5, [2, 3])); sum(randn(2, 3) > 0); sum(randn(2, 3), dtype=torch.float32);
        sum(complex(randn(2), randn(2))); sum(randn(0, 3), 0); sum(randn(0))
    """,
)
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over `dim`, or over all; of integers in int64."""
    run = reduced_axes(dim, input.ndim)
    return accumulate(lambda x: sum_over(x, run, keepdim), input, dtype)


@linear(
    lambda g, y, x, dim, keepdim, dtype: _expand_cotangent(g, x, dim, keepdim) / count_reduced(x, dim),
    rounds=True,
    dtypes={"dtype": FLOATING},
    samples=f"""{_SAMPLES}; {_SEVERAL};
        mean(randint(0, 5, [2, 3]), dtype=torch.float64); mean(randn(2, 3), dtype=torch.float64);
        mean(complex(randn(2), randn(2))); mean(randn(0, 3), 0)
    """,
)
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean over `dim`, or of all; NaN of none."""
    run, number = reduced_axes(dim, input.ndim), count_reduced(input, dim)
    if dtype is None:
        require_floating("mean", input.dtype)
    return accumulate(lambda x: np.true_divide(sum_over(x, run, keepdim), number), input, dtype)


@composite(dtypes={"dtype": REAL}, samples="nansum(tensor([[1.0, nan], [2.0, 3.0]]), 1); nansum(randn(2, 3))")
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """`sum`, counting NaN as 0."""
    refuse_complex("nansum", input.dtype)
    return sum(where(input != input, 0, input), dim, keepdim, dtype=dtype)


@composite(
    dtypes={"input dtype": REAL_FLOATING}, samples="nanmean(tensor([[1.0, nan], [2.0, 3.0]]), 1); nanmean(randn(2, 3))"
)
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean of the elements that are not NaN."""
    return nansum(input, dim, keepdim, dtype=dtype) / sum(input == input, dim, keepdim)


# Products ------------------------------------------------------------------------------------------


def _prod_rule(g: Any, y: Any, x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """The cotangent times the product of all others, safe for zeros."""
    x = x if dtype is None else to(x, y.dtype)
    if dim is None:
        flat = reshape(x, (count_reduced(x, None),))
        return g * reshape(exclusive_products(flat, 0), x.shape)
    return restore_reduced_dims(g, x, dim, keepdim) * exclusive_products(
        x, reduced_axes(dim, x.ndim)[0] if x.ndim else 0
    )


@op(
    _prod_rule,
    rounds=True,
    samples=f"""{_SAMPLES};
        prod(tensor([2.0, 0.0, 3.0])); prod(tensor([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]]), 1);
        prod(tensor([[2.0, 0.0], [0.0, 1.0], [5.0, 3.0]])); prod(randint(1, 5, [2, 3]));
        prod(randn(2, 3), dtype=torch.float32); prod(complex(randn(3), randn(3))); prod(randn(0))
    """,
    analytic=True,
)
def prod(input: Any, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product over one dimension, or of all elements."""
    if isinstance(dim, (tuple, list)):
        raise ArgumentError("prod takes one dimension, not several")
    run = reduced_axes(dim, input.ndim)
    keep = keepdim and dim is not None
    return accumulate(lambda x: np.prod(x, axis=run, keepdims=keep), input, dtype)


# Variances -----------------------------------------------------------------------------------------


def _dim_and_correction(dim: Any, unbiased: bool | None, correction: float | None) -> tuple[Any, float]:
    """Return dimensions and correction, also from `std(False)`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    return dim, correction


def _var_rule(g: Any, y: Any, x: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Any:
    dim, correction = _dim_and_correction(dim, unbiased, correction)
    freedom = max(0, count_reduced(x, dim) - correction)
    return restore_reduced_dims(g, x, dim, keepdim) * (x - mean(x, dim, True)) * 2 / freedom


def _std_rule(g: Any, y: Any, x: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Any:
    """Return 0 where the deviation is 0, as in torch."""
    slope = where(y == 0, 0, g / (2 * where(y == 0, 1, y)))
    return _var_rule(slope, y, x, dim, unbiased, keepdim, correction)


_SPREAD_SAMPLES = """
    randn(2, 3).{}(); {}(randn(2, 3, 2), 1); {}(randn(2, 3), dim=-1, keepdim=True); {}(randn(2, 3, 2), (0, 2));
    {}(randn(2, 3), 0, correction=0); {}(randn(3, 4), correction=2); {}(randn(2, 3), unbiased=False);
    {}(randn(2, 3), 1, False); {}(randn(2, 3), 1, True, True); {}(complex(randn(2, 3), randn(2, 3)), 1);
    {}(randn(1, 3), 1); {}(randn(1, 3), 0); {}(randn(0, 3), 0); {}(tensor([[1.0, 1.0], [1.0, 2.0]]), 1)
"""


@op(_var_rule, holomorphic=False, samples=_SPREAD_SAMPLES)
def var(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None
) -> Any:
    """The variance, divided by the count less `correction`, 1 by default."""
    require_floating("var", input.dtype)
    dim, correction = _dim_and_correction(dim, unbiased, correction)
    run, freedom = reduced_axes(dim, input.ndim), max(0, count_reduced(input, dim) - correction)
    centre = np.true_divide(np.sum(input, axis=run, keepdims=True), count_reduced(input, dim))
    squares = np.square(np.abs(input - centre))
    return np.true_divide(np.sum(squares, axis=run, keepdims=keepdim), freedom).astype(squares.dtype, copy=False)


@op(_std_rule, holomorphic=False, kinks="where all are equal; the gradient is 0", samples=_SPREAD_SAMPLES)
def std(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None
) -> Any:
    """The standard deviation, the square root of `var`."""
    require_floating("std", input.dtype)
    return np.sqrt(var.forward(input, dim, unbiased, keepdim, correction))


@composite(samples="var_mean(randn(2, 3), 1); var_mean(randn(2, 3), correction=0)")
def var_mean(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None
) -> Any:
    """The variance and the mean."""
    run, _ = _dim_and_correction(dim, unbiased, correction)
    return var(input, dim, unbiased, keepdim, correction=correction), mean(input, run, keepdim)


@composite(samples="std_mean(randn(2, 3), 1); std_mean(randn(2, 3), correction=0)")
def std_mean(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None
) -> Any:
    """The standard deviation and the mean."""
    run, _ = _dim_and_correction(dim, unbiased, correction)
    return std(input, dim, unbiased, keepdim, correction=correction), mean(input, run, keepdim)


# Tests ---------------------------------------------------------------------------------------------


_TEST_SAMPLES = """
    {}(tensor([[True, False], [True, True]])); {}(tensor([[True, False], [True, True]]), 1);
    {}(randn(2, 3) > 0, dim=(0, 1), keepdim=True); {}(randn(0, 3) > 0, 0); {}(tensor([0.0, nan]))
"""


@op(samples=_TEST_SAMPLES)
def any(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """True if any element is not 0."""
    return np.any(input, axis=reduced_axes(dim, input.ndim), keepdims=keepdim)


@op(samples=_TEST_SAMPLES)
def all(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """True if every element is not 0."""
    return np.all(input, axis=reduced_axes(dim, input.ndim), keepdims=keepdim)


@op(samples="count_nonzero(tensor([[0.0, 2.0], [nan, 0.0]])); count_nonzero(randint(0, 2, [2, 3]), dim=1)")
def count_nonzero(input: Any, dim: Any = None) -> Any:
    """The number of elements that are not 0."""
    return np.asarray(np.count_nonzero(input, axis=reduced_axes(dim, input.ndim)), np.int64)
