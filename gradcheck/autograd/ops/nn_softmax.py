"""Softmax and its kin: probabilities from scores, stable however large the scores are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.by_name import ops
from gradcheck.autograd.ops.dims import canonical
from gradcheck.errors import DtypeMismatch


def _along(name: str, compute: Callable[[Any, int], Any], input: Any, dim: int, dtype: Any) -> Any:
    """`compute(scores less their largest, axis)` in at least float32 and rounded to `dtype`, or to the input's.

    A row that is all -inf becomes NaN, as in torch.
    """
    axis, target = canonical(dim, input.ndim), input.dtype if dtype is None else dtype
    if target.kind in "biu":
        raise DtypeMismatch(f"{name} takes floating tensors, not {target}", hint="give it dtype=torch.float64")
    scores = np.atleast_1d(input).astype(np.float32 if target in dtypes.HALVES else target, copy=False)
    if scores.size:
        scores = compute(scores - np.max(scores, axis, keepdims=True), axis)
    return scores.astype(target, copy=False).reshape(input.shape)


def _normalized(scores: Any, axis: int) -> Any:
    raised = np.exp(scores)
    return raised / np.sum(raised, axis, keepdims=True)


def _log_normalized(scores: Any, axis: int) -> Any:
    return scores - np.log(np.sum(np.exp(scores), axis, keepdims=True))


def _softmax_rule(g: Any, y: Any, x: Any, dim: int, dtype: Any) -> Any:
    return y * (g - ops.sum(g * y, dim, True))


def _log_softmax_rule(g: Any, y: Any, x: Any, dim: int, dtype: Any) -> Any:
    return g - ops.exp(y) * ops.sum(g, dim, True)


@op(
    _softmax_rule,
    rounds=True,
    samples=(
        "softmax(randn(2, 3), 1)",
        "randn(2, 3, 2).softmax(dim=-2)",
        "softmax(randn(2, 3), 0)",
        "softmax(randn(()), 0)",
        "softmax(randn(0, 3), 1)",
        "softmax(randn(2, 0), 1)",
        "softmax(1e4 * randn(2, 3), 1)",
        "softmax(tensor([[0.5, -inf, 1.5], [-inf, 0.25, 0.75]]), -1)",
        "softmax(tensor([[1, 2], [4, 3]]), 1, dtype=float64)",
    ),
    analytic=True,
)
def softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """Exponentials that add up to 1 along `dim`, in `dtype` if given."""
    return _along("softmax", _normalized, input, dim, dtype)


@op(
    _log_softmax_rule,
    rounds=True,
    samples=(
        "log_softmax(randn(2, 3), 1)",
        "randn(2, 3, 2).log_softmax(dim=-2)",
        "log_softmax(randn(2, 3), 0)",
        "log_softmax(randn(()), -1)",
        "log_softmax(randn(0, 3), 1)",
        "log_softmax(1e4 * randn(2, 3), 1)",
        "log_softmax(tensor([[1, 2], [4, 3]]), 1, dtype=float64)",
    ),
    analytic=True,
)
def log_softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """The logarithm of `softmax`, without computing either alone."""
    return _along("log_softmax", _log_normalized, input, dim, dtype)


@composite(
    torch="nn.functional.softmin",
    method=False,
    samples=("softmin(randn(2, 3), dim=1)", "softmin(randn(2, 3, 2), 0)"),
)
def softmin(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """`softmax` of the negative."""
    return softmax(-input, dim, dtype)
