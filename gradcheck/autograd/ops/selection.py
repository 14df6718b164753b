"""The largest and smallest elements along dimensions, where they stand, and tests of all or any."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.op import Op, composite, op
from gradcheck.autograd.ops import reduction
from gradcheck.autograd.ops.dims import canonical
from gradcheck.autograd.ops.extrema import maximum, minimum, where
from gradcheck.autograd.ops.gathering import gather
from gradcheck.autograd.ops.kinds import refuse_complex
from gradcheck.autograd.ops.reducing import axes, restored
from gradcheck.autograd.ops.shape import squeeze
from gradcheck.errors import ArgumentError, IndexOutOfRange, ShapeMismatch


def _share_ties(g: Any, y: Any, x: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """Equal extremes share the cotangent evenly."""
    tied = x == restored(y, x, dim, keepdim)
    return where(tied, restored(g, x, dim, keepdim), 0) / reduction.sum(tied, dim, True)


def _samples(name: str) -> tuple[str, ...]:
    return (
        f"randn(2, 3).{name}()",
        f"{name}(randn(2, 3, 2), 1)",
        f"{name}(randn(2, 3), dim=-1, keepdim=True)",
        f"{name}(randn(2, 3, 2), (0, 2))",
        f"{name}(randn(()), 0)",
        f"{name}(randn(0, 3), 1)",
        f"{name}(tensor([[1.0, 1.0, 0.0], [0.0, 2.0, 2.0]]), 1)",
        f"{name}(randint(0, 5, [2, 3]), 1)",
        f"{name}(tensor([1.0, nan]))",
    )


def _extreme(name: str, function: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    refuse_complex(name, input)
    run = axes(dim, input.ndim)
    if any_empty(input, run):
        kind = ShapeMismatch if len(run) == input.ndim else IndexOutOfRange  # as torch tells them apart
        raise kind(f"{name}: there is no element along {list(run)} of a tensor of shape {list(input.shape)}")
    return function(input, axis=run, keepdims=keepdim)


def any_empty(input: Any, run: tuple[int, ...]) -> bool:
    """Whether one of these dimensions has no element."""
    return 0 in [input.shape[axis] for axis in run]


@op(_share_ties, kinks="ties, which share the gradient", samples=_samples("amax"))
def amax(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The largest element over the dimensions of `dim`, or of all; NaN where there is one."""
    return _extreme("amax", np.max, input, dim, keepdim)


@op(_share_ties, kinks="ties, which share the gradient", samples=_samples("amin"))
def amin(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The smallest element over the dimensions of `dim`, or of all; NaN where there is one."""
    return _extreme("amin", np.min, input, dim, keepdim)


def _place(name: str, function: Any, input: Any, dim: int | None, keepdim: bool) -> Any:
    refuse_complex(name, input)
    if any_empty(input, axes(dim, input.ndim)):
        raise IndexOutOfRange(f"there is no element to find in a tensor of shape {list(input.shape)}")
    if input.ndim == 0:
        return np.zeros((), np.int64) if dim is None or canonical(dim, 0) == 0 else None
    axis = None if dim is None else canonical(dim, input.ndim)
    return np.asarray(function(input, axis=axis, keepdims=keepdim), np.int64)


def _place_samples(name: str) -> tuple[str, ...]:
    return (
        f"{name}(randn(2, 3))",
        f"{name}(randn(2, 3), 1)",
        f"{name}(randn(2, 3), dim=-2, keepdim=True)",
        f"{name}(randn(()))",
        f"{name}(tensor([[2.0, 5.0, 5.0], [1.0, nan, 1.0]]), 1)",
    )


@op(samples=_place_samples("argmax"))
def argmax(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Where the largest element stands, the first of several; a NaN is larger than all. Without `dim`, in row-major
    order."""
    return _place("argmax", np.argmax, input, dim, keepdim)


@op(samples=_place_samples("argmin"))
def argmin(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Where the smallest element stands, the first of several; a NaN is smaller than all. Without `dim`, in row-major
    order."""
    return _place("argmin", np.argmin, input, dim, keepdim)


# max and min, in torch's three forms ---------------------------------------------------------------


def _along(places: Op, input: Any, dim: Any, keepdim: bool) -> Any:
    if isinstance(dim, (tuple, list)):
        raise ArgumentError("max and min find places along one dimension", hint="amax and amin take several")
    indices = places(input, dim, True)
    values = gather(input, dim, indices)
    return (values, indices) if keepdim else (squeeze(values, dim), squeeze(indices, dim))


def _form_samples(name: str) -> tuple[str, ...]:
    return (
        f"randn(2, 3).{name}()",
        f"{name}(tensor([1.0, 3.0, 3.0, 1.0]))",
        f"{name}(randn(2, 3), 1)",
        f"{name}(randn(2, 3), dim=0, keepdim=True)[0]",
        f"{name}(tensor([[1.0, 1.0, 0.0], [0.0, 2.0, 2.0]]), 1)",
        f"{name}(randn(()), 0)",
        f"{name}(randn(2, 3), randn(3))",
        f"{name}(randn(2, 3), other=randn(2, 3))",
    )


@composite(kinks="ties", samples=_form_samples("max"))
def max(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The largest element, `max(x)`; the largest along a dimension and where they stand, `max(x, dim)`; or the larger
    of two tensors, `max(x, y)`."""
    second = dim if other is None else other
    if hasattr(second, "shape"):
        return maximum(input, second)
    return amax(input) if second is None else _along(argmax, input, dim, keepdim)


@composite(kinks="ties", samples=_form_samples("min"))
def min(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The smallest element, `min(x)`; the smallest along a dimension and where they stand, `min(x, dim)`; or the
    smaller of two tensors, `min(x, y)`."""
    second = dim if other is None else other
    if hasattr(second, "shape"):
        return minimum(input, second)
    return amin(input) if second is None else _along(argmin, input, dim, keepdim)


@composite(samples=("aminmax(randn(2, 3))", "aminmax(randn(2, 3), dim=1, keepdim=True)"))
def aminmax(input: Any, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element."""
    run = () if dim is None else dim
    return amin(input, run, keepdim), amax(input, run, keepdim)


# Tests ---------------------------------------------------------------------------------------------


def _test_samples(name: str) -> tuple[str, ...]:
    return (
        f"{name}(tensor([[True, False], [True, True]]))",
        f"{name}(tensor([[True, False], [True, True]]), 1)",
        f"{name}(randn(2, 3) > 0, dim=(0, 1), keepdim=True)",
        f"{name}(randn(0, 3) > 0, 0)",
        f"{name}(tensor([0.0, nan]))",
    )


@op(samples=_test_samples("any"))
def any(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether any element is true, that is not 0."""
    return np.any(input, axis=axes(dim, input.ndim), keepdims=keepdim)


@op(samples=_test_samples("all"))
def all(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether every element is true, that is not 0."""
    return np.all(input, axis=axes(dim, input.ndim), keepdims=keepdim)


@op(samples=("count_nonzero(tensor([[0.0, 2.0], [nan, 0.0]]))", "count_nonzero(randint(0, 2, [2, 3]), dim=1)"))
def count_nonzero(input: Any, dim: Any = None) -> Any:
    """How many elements are not 0."""
    return np.asarray(np.count_nonzero(input, axis=axes(dim, input.ndim)), np.int64)
