"""Helpers for ops of `torch.nn.functional`: rounding, reductions, checks."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtypes import HALVES
from gradcheck.autograd.op import Op, composite
from gradcheck.autograd.ops.common.dims import broadcast_shape
from gradcheck.autograd.promotion import require_one_dtype
from gradcheck.errors import ArgumentError, DtypeMismatch, ShapeMismatch


def nn_functional_op(torch: str = "nn.functional.{}", **traits: Any) -> Callable[[Callable[..., Any]], Op]:
    """Make a composite that rounds once, as torch's one kernel does.

    `torch` is the path of its counterpart; it is no method. Half precision is computed in float32; infinities and NaN
    are values.
    """
    entry = composite(torch=torch, method=False, **traits)
    return lambda forward: entry(_round_once(forward))


def _round_once(forward: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(forward)
    def run(*args: Any, **kwargs: Any) -> Any:
        halves = [a.dtype for a in (*args, *kwargs.values()) if _is_half(a)]
        with np.errstate(all="ignore"):
            if not halves:
                return forward(*args, **kwargs)
            raised = {name: _to_float32(value) for name, value in kwargs.items()}
            return _to_half(forward(*map(_to_float32, args), **raised), halves[0])

    return run


def _to_half(made: Any, half: np.dtype) -> Any:
    """Round floating results to half precision; indices stay."""
    if isinstance(made, tuple):
        return tuple(_to_half(part, half) for part in made)
    return made if made.dtype.kind in "biu" else ops.to(made, half)


def _is_half(value: Any) -> bool:
    return getattr(value, "dtype", None) in HALVES


def _to_float32(value: Any) -> Any:
    return ops.to(value, np.dtype(np.float32)) if _is_half(value) else value


def reduce_loss(loss: Any, reduction: str) -> Any:
    """Reduce a loss by "none", "sum" or "mean". Raises ArgumentError."""
    if reduction == "none":
        return loss
    if reduction == "sum":
        return ops.sum(loss)
    if reduction == "mean":
        return ops.mean(loss)
    raise ArgumentError(f"{reduction!r} is no reduction", hint="expected 'none', 'mean' or 'sum'")


def require_same_shape(name: str, input: Any, other: Any, what: str) -> None:
    """Raise ShapeMismatch unless shapes are equal; `what` names `other`."""
    if tuple(input.shape) != tuple(other.shape):
        raise ShapeMismatch(f"{name}: the {what} has shape {list(other.shape)}, the input {list(input.shape)}")


def require_broadcastable_to(name: str, input: Any, other: Any, what: str) -> None:
    """Raise ShapeMismatch unless `other` broadcasts to the input's shape."""
    if broadcast_shape(name, tuple(input.shape), tuple(other.shape)) != tuple(input.shape):
        shapes = f"{list(other.shape)}, the input {list(input.shape)}"
        raise ShapeMismatch(f"{name}: the {what} is larger than the input: it has shape {shapes}")


def require_any_floating(name: str, *tensors: Any) -> None:
    """Raise DtypeMismatch if all are integers, which have no mean."""
    if all(tensor.dtype.kind in "biu" for tensor in tensors):
        raise DtypeMismatch(f"{name} takes floating tensors, not {tensors[0].dtype}")


def require_one_float_dtype(name: str, *tensors: Any) -> None:
    """Raise DtypeMismatch unless tensors, None aside, share a float dtype."""
    given = [tensor for tensor in tensors if tensor is not None]
    require_one_dtype(name, *given)
    if given[0].dtype.kind in "biu":
        raise DtypeMismatch(f"{name} takes floating tensors, not {given[0].dtype}")


def count_broadcast_elements(*tensors: Any) -> int:
    """Return the number of elements of tensors broadcast together."""
    return prod(np.broadcast_shapes(*(t.shape for t in tensors if hasattr(t, "shape"))))
