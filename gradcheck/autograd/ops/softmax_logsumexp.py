"""Softmax and its variants, stable for scores of any size.

The largest score is subtracted first; for what that costs in accuracy see Blanchard, Higham, Higham: Accurately
computing the log-sum-exp and softmax functions, 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import REAL, REAL_FLOATING
from gradcheck.autograd.dtypes import HALVES
from gradcheck.autograd.modes import default_dtype
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.common.arguments import sum_over
from gradcheck.autograd.ops.common.dims import canonical_dim, reduced_axes, restore_reduced_dims
from gradcheck.errors import DtypeMismatch, ShapeMismatch


def _apply_to_shifted(name: str, compute: Callable[[Any, int], Any], input: Any, dim: int, dtype: Any) -> Any:
    """Compute on scores less their maximum, in at least float32.

    A row that is all -inf becomes NaN, as in torch.
    """
    axis, target = canonical_dim(dim, input.ndim), input.dtype if dtype is None else dtype
    if target.kind in "biu":
        raise DtypeMismatch(f"{name} takes floating tensors, not {target}", hint="give it dtype=torch.float64")
    if input.dtype.kind == "c" and target.kind != "c":
        raise DtypeMismatch(f"{name} of {input.dtype} is not of {target}", hint="take its real part: z.real")
    scores = (input if input.ndim else input.reshape(1)).astype(np.float32 if target in HALVES else target, copy=False)
    if scores.size:
        scores = compute(scores - np.maximum.reduce(scores, axis, keepdims=True), axis)
    return scores.astype(target, copy=False).reshape(input.shape)


def _normalized(scores: Any, axis: int) -> Any:
    raised = np.exp(scores)
    return raised / sum_over(raised, axis, True)


def _log_normalized(scores: Any, axis: int) -> Any:
    return scores - np.log(sum_over(np.exp(scores), axis, True))


@op(
    lambda g, y, x, dim, dtype: y * (g - ops.sum(g * y, dim, True)),
    rounds=True,
    dtypes={"dtype": REAL_FLOATING, "input": REAL},
    samples="""
        {}(randn(2, 3), 1); randn(2, 3, 2).{}(dim=-2); {}(randn(2, 3), 0); {}(randn(()), 0); {}(randn(0, 3), 1);
        {}(randn(2, 0), 1); {}(1e4 * randn(2, 3), 1); {}(tensor([[0.5, -inf, 1.5], [-inf, 0.25, 0.75]]), -1);
        {}(tensor([[1, 2], [4, 3]]), 1, dtype=float64); {}(randn(2, 3), 1, dtype=float64)
    """,
    analytic=True,
)
def softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """Exponentials that add up to 1 along `dim`, in `dtype` if given."""
    return _apply_to_shifted("softmax", _normalized, input, dim, dtype)


@op(
    lambda g, y, x, dim, dtype: g - ops.exp(y) * ops.sum(g, dim, True),
    rounds=True,
    dtypes={"dtype": REAL_FLOATING, "input": REAL},
    samples="""
        {}(randn(2, 3), 1); randn(2, 3, 2).{}(dim=-2); {}(randn(2, 3), 0); {}(randn(()), -1); {}(randn(0, 3), 1);
        {}(1e4 * randn(2, 3), 1); {}(tensor([[1, 2], [4, 3]]), 1, dtype=float64); {}(randn(2, 3), 1, dtype=float64)
    """,
    analytic=True,
)
def log_softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """The logarithm of `softmax`, without computing either alone."""
    return _apply_to_shifted("log_softmax", _log_normalized, input, dim, dtype)


@composite(
    torch="nn.functional.softmin",
    method=False,
    dtypes={"dtype": REAL_FLOATING, "input": REAL},
    samples="softmin(randn(2, 3), dim=1); softmin(randn(2, 3, 2), 0); softmin(randn(2, 3), 1, dtype=float64)",
)
def softmin(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """`softmax` of the negative."""
    return softmax(-input, dim, dtype)


@op(
    lambda g, y, x, dim, keepdim: (
        restore_reduced_dims(g, x, dim, keepdim) * ops.exp(x - restore_reduced_dims(y, x, dim, keepdim))
    ),
    aliases=("special.logsumexp",),
    samples="""
        {}(randn(2, 3), 1); randn(2, 3).{}(dim=0, keepdim=True); {}(randn(2, 3, 2), (0, 2)); {}(randn(()), 0);
        {}(randn(0, 3), 0); {}(tensor([1000.0, 999.0, -1000.0]), 0);
        {}(tensor([[-inf, -inf], [-inf, 1.0], [inf, 1.0], [nan, 1.0]]), 1); {}(randint(0, 5, [2, 3]), 1)
    """,
    analytic=True,
)
def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Any:
    """`log(sum(exp(input)))` over `dim`, without overflow."""
    if isinstance(dim, (tuple, list)) and not dim and not keepdim and input.ndim:
        raise ShapeMismatch("logsumexp over no dimension in particular", hint="write logsumexp(x.flatten(), dim=0)")
    run = reduced_axes(dim, input.ndim)
    x = input.astype(default_dtype()) if input.dtype.kind in "biu" else input
    largest = np.max(x.real, axis=run, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(largest), largest, 0).astype(largest.dtype, copy=False)
    total = np.log(np.sum(np.exp(x - shift), axis=run, keepdims=True)) + shift
    return total if keepdim else np.squeeze(total, axis=run)
