"""What the ops of neural networks share: their reductions, and rounding half precision once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.ops.by_name import ops
from gradcheck.autograd.promotion import require_one_dtype
from gradcheck.errors import ArgumentError, DtypeMismatch, ShapeMismatch


def reduced(loss: Any, reduction: str) -> Any:
    """`loss` as it is ("none"), or its sum or mean, 0-d."""
    if reduction == "none":
        return loss
    if reduction == "sum":
        return ops.sum(loss)
    if reduction == "mean":
        return ops.mean(loss)
    raise ArgumentError(f"{reduction!r} is no reduction", hint="expected 'none', 'mean' or 'sum'")


def weighted_mean(loss: Any, weight: Any, reduction: str) -> Any:
    """`reduced(loss)`, but the mean divides by the sum of the weights."""
    return ops.sum(loss) / ops.sum(weight) if reduction == "mean" else reduced(loss, reduction)


def same_shape(name: str, input: Any, other: Any, what: str) -> None:
    """ShapeMismatch unless both have one shape."""
    if tuple(input.shape) != tuple(other.shape):
        raise ShapeMismatch(f"{name}: the {what} has shape {list(other.shape)}, the input {list(input.shape)}")


def one_dtype(name: str, *tensors: Any) -> None:
    """DtypeMismatch unless those that are given (None is not) have one dtype, and a floating one."""
    given = [tensor for tensor in tensors if tensor is not None]
    require_one_dtype(name, *given)
    if given[0].dtype.kind in "biu":
        raise DtypeMismatch(f"{name} takes floating tensors, not {given[0].dtype}")


def joint_elements(*tensors: Any) -> int:
    """How many elements tensors have that are broadcast together; what is no tensor does not count."""
    return prod(np.broadcast_shapes(*(t.shape for t in tensors if hasattr(t, "shape"))))


def kernel(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Make a composite behave as torch's one kernel does.

    Half precision is computed in float32 and the result alone rounded; infinities and NaN are values, not warnings.
    """

    @wraps(forward)
    def run(*args: Any, **kwargs: Any) -> Any:
        halves = [a.dtype for a in (*args, *kwargs.values()) if _is_half(a)]
        with np.errstate(all="ignore"):
            if not halves:
                return forward(*args, **kwargs)
            raised = {name: _raised(value) for name, value in kwargs.items()}
            return ops.to(forward(*map(_raised, args), **raised), halves[0])

    return run


def _is_half(value: Any) -> bool:
    return getattr(value, "dtype", None) in dtypes.HALVES


def _raised(value: Any) -> Any:
    return ops.to(value, np.dtype(np.float32)) if _is_half(value) else value
