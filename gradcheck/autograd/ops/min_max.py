"""Maxima and minima: of two, clamped, along dimensions.

Equal extremes share the gradient, a subgradient, unless an op says otherwise.
"""

from __future__ import annotations

import re
from functools import cache, partial
from operator import ge, gt, le, lt
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import REAL_NUMBERS
from gradcheck.autograd.op import Op, Rule, composite, elementwise, op, row
from gradcheck.autograd.ops.common.arguments import refuse_complex
from gradcheck.autograd.ops.common.dims import any_empty, canonical_dim, reduced_axes, restore_reduced_dims
from gradcheck.autograd.ops.comparison_where import where
from gradcheck.autograd.ops.gather_scatter import gather
from gradcheck.autograd.ops.shape_casts import squeeze
from gradcheck.errors import ArgumentError, IndexOutOfRange, ShapeMismatch


@cache
def ties_are_shared() -> bool:
    """Return whether the installed torch, if any, is 2.14 or later.

    From 2.14 on, `fmax`, `fmin` and `clamp` with tensors share a gradient between equal operands, and `clamp` with
    numbers passes none on at its bounds.
    """
    from importlib import metadata  # not for graphs without these ops

    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return True
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2]) >= (2, 14)


# Of two --------------------------------------------------------------------------------------------

_TWO = ((-3.0, 3.0), (-3.0, 3.0))
_TIES = "ties, which share the gradient"


def _tie_sharing_rules(loses: Rule) -> tuple[Rule, Rule]:
    """Return rules for the winner; equal operands share the cotangent."""
    return (
        lambda g, y, a, b: where(loses(a, b), 0, where(a == b, g / 2, g)),
        lambda g, y, a, b: where(loses(b, a), 0, where(a == b, g / 2, g)),
    )


def _first_wins_rules(wins: Rule, wins_or_equals: Rule) -> tuple[Rule, Rule]:
    """Return rules for the first operand if it wins or the second is NaN."""

    def one(g: Any, y: Any, a: Any, b: Any) -> Any:
        if ties_are_shared():
            return where(wins(a, b) | (b != b), g, where(a == b, g / 2, 0))
        return where(wins_or_equals(a, b) | (b != b), g, 0)

    def other(g: Any, y: Any, a: Any, b: Any) -> Any:
        if ties_are_shared():
            return where(wins(a, b) | (b != b), 0, where(a == b, g / 2, g))
        return where(wins_or_equals(a, b) | (b != b), 0, g)

    return one, other


_EITHER_NAN = "{}(tensor([1.0, 2.0, 3.0]), tensor([1.0, 5.0, 0.0])); {}(tensor([nan, 1.0]), tensor([1.0, nan]))"
_of_two = partial(row, kinks=_TIES, samples=_EITHER_NAN, takes="bif", domain=_TWO)
_but_nan = partial(_of_two, kinks="ties", samples="{}(tensor([1.0, nan, 3.0, nan]), tensor([1.0, 5.0, nan, nan]))")

_MAX, _MIN = "The larger of two; NaN where either is.", "The smaller of two; NaN where either is."
maximum = _of_two("maximum", _MAX, np.maximum, _tie_sharing_rules(lt))
minimum = _of_two("minimum", _MIN, np.minimum, _tie_sharing_rules(gt))
_FMAX = "The larger of two; a NaN counts only against another."
_but_nan("fmax", _FMAX, np.fmax, _first_wins_rules(gt, ge))
_FMIN = "The smaller of two; a NaN counts only against another."
_but_nan("fmin", _FMIN, np.fmin, _first_wins_rules(lt, le))


def _clamp_input(g: Any, y: Any, x: Any, low: Any, high: Any) -> Any:
    if ties_are_shared():
        return _clamp_shared(g, x, low, high)
    if low is None:
        return where(x <= high, g, 0)
    if high is None:
        return where(x >= low, g, 0)
    return where((x >= low) & (x <= high), g, 0)


def _clamp_shared(g: Any, x: Any, low: Any, high: Any) -> Any:
    """No gradient at a bound that is a number, half of it at a tensor.

    All of it where two equal tensors bound x.
    """
    if low is None:
        return where(x < high, g, 0) if _is_number(high) else where(x > high, 0, where(x == high, g / 2, g))
    if high is None:
        return where(x > low, g, 0) if _is_number(low) else where(x < low, 0, where(x == low, g / 2, g))
    if _is_number(low) and _is_number(high):
        return where((x > low) & (x < high), g, 0)
    half = ((x == low) | (x == high)) & (low < high)
    return where((x < low) | (x > high) | (high < low), 0, where(half, g / 2, g))


def _is_number(bound: Any) -> bool:
    return isinstance(bound, (int, float))


def _clamp_min(g: Any, y: Any, x: Any, low: Any, high: Any) -> Any:
    if ties_are_shared():
        if high is None:
            return where(x < low, g, where(x == low, g / 2, 0))
        return where((x < low) & (low <= high), g, where((x == low) & (low < high), g / 2, 0))
    decides = x < low if high is None else (x < low) & (low < high)
    return where(decides, g, 0)


def _clamp_max(g: Any, y: Any, x: Any, low: Any, high: Any) -> Any:
    decides = x > high if low is None else (x > high) | (high < low)
    if ties_are_shared():
        tie = x == high if low is None else (x == high) & (low < high)
        return where(decides, g, where(tie, g / 2, 0))
    return where(decides, g, 0)


@elementwise(
    (_clamp_input, _clamp_min, _clamp_max),
    aliases=("clip",),
    takes="if",
    domain=(*_TWO, (0.0, 3.0)),
    kinks="bounds, at which the gradient still passes before torch 2.14",
    samples="""
        clamp(tensor([-2.0, -1.0, 0.5, 1.0, 2.0, nan]), -1, 1); clamp(randn(2, 3), min=0);
        clamp(randn(2, 3), max=0.5); clamp(randn(2, 3), min=randn(3)); clamp(randn(2, 3), max=randn(2, 1));
        randn(2, 3).clamp(1, -1); clamp(randint(-5, 5, [4]), -1, 2)
    """,
)
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """`input` raised to `min`, then lowered to `max`, numbers or tensors."""
    if min is None and max is None:
        raise ArgumentError("clamp needs min, max or both")
    raised = input if min is None else np.maximum(input, min)
    return raised if max is None else np.minimum(raised, max)


@composite(samples="clamp_min(randn(3), 0); clamp_min(randn(2, 3), randn(3))")
def clamp_min(input: Any, min: Any) -> Any:
    """`input`, raised to `min`."""
    return clamp(input, min)


@composite(samples="clamp_max(randn(3), 0); clamp_max(randn(2, 3), randn(3))")
def clamp_max(input: Any, max: Any) -> Any:
    """`input`, lowered to `max`."""
    return clamp(input, None, max)


# Along dimensions ----------------------------------------------------------------------------------


def _share_ties(g: Any, y: Any, x: Any, dim: Any, keepdim: bool) -> Any:
    """Share the cotangent evenly among equal extremes."""
    tied = x == restore_reduced_dims(y, x, dim, keepdim)
    return where(tied, restore_reduced_dims(g, x, dim, keepdim), 0) / ops.sum(tied, dim, True)


_SAMPLES = """
    randn(2, 3).{}(); {}(randn(2, 3, 2), 1); {}(randn(2, 3), dim=-1, keepdim=True); {}(randn(2, 3, 2), (0, 2));
    {}(randn(()), 0); {}(randn(0, 3), 1); {}(tensor([[1.0, 1.0, 0.0], [0.0, 2.0, 2.0]]), 1);
    {}(randint(0, 5, [2, 3]), 1); {}(tensor([1.0, nan]))
"""


def _extreme(name: str, function: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    refuse_complex(name, input.dtype)
    run = reduced_axes(dim, input.ndim)
    if any_empty(input, run):
        kind = ShapeMismatch if len(run) == input.ndim else IndexOutOfRange  # as torch tells them apart
        raise kind(f"{name}: there is no element along {list(run)} of a tensor of shape {list(input.shape)}")
    return function(input, axis=run, keepdims=keepdim)


@op(_share_ties, kinks=_TIES, samples=_SAMPLES)
def amax(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The largest element over `dim`, or of all; NaN if there is one."""
    return _extreme("amax", np.max, input, dim, keepdim)


@op(_share_ties, kinks=_TIES, samples=_SAMPLES)
def amin(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The smallest element over `dim`, or of all; NaN if there is one."""
    return _extreme("amin", np.min, input, dim, keepdim)


def _arg_extreme(name: str, function: Any, input: Any, dim: int | None, keepdim: bool) -> Any:
    refuse_complex(name, input.dtype)
    if any_empty(input, reduced_axes(dim, input.ndim)):
        raise IndexOutOfRange(f"there is no element to find in a tensor of shape {list(input.shape)}")
    if input.ndim == 0:
        return np.zeros((), np.int64)
    axis = None if dim is None else canonical_dim(dim, input.ndim)
    return function(input, axis=axis, keepdims=keepdim).astype(np.int64, copy=False)


_PLACE_SAMPLES = """
    {}(randn(2, 3)); {}(randn(2, 3), 1); {}(randn(2, 3), dim=-2, keepdim=True); {}(randn(()));
    {}(tensor([[2.0, 5.0, 5.0], [1.0, nan, 1.0]]), 1)
"""


@op(dtypes={"input": REAL_NUMBERS}, samples=_PLACE_SAMPLES)
def argmax(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The first index of the largest element; NaN counts as larger."""
    return _arg_extreme("argmax", np.argmax, input, dim, keepdim)


@op(dtypes={"input": REAL_NUMBERS}, samples=_PLACE_SAMPLES)
def argmin(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The first index of the smallest element; NaN counts as smaller."""
    return _arg_extreme("argmin", np.argmin, input, dim, keepdim)


# max and min, in torch's three forms ---------------------------------------------------------------


def _extreme_along_dim(places: Op, input: Any, dim: Any, keepdim: bool) -> Any:
    """Return the elements at the `places` along a dimension, and these."""
    if isinstance(dim, (tuple, list)):
        raise ArgumentError("max and min find places along one dimension", hint="amax and amin take several")
    indices = places(input, dim, True)
    values = gather(input, dim, indices)
    return (values, indices) if keepdim else (squeeze(values, dim), squeeze(indices, dim))


_FORM_SAMPLES = """
    randn(2, 3).{}(); {}(tensor([1.0, 3.0, 3.0, 1.0])); {}(randn(2, 3), 1); {}(randn(2, 3), dim=0, keepdim=True)[0];
    {}(tensor([[1.0, 1.0, 0.0], [0.0, 2.0, 2.0]]), 1); {}(randn(()), 0); {}(randn(2, 3), randn(3));
    {}(randn(2, 3), other=randn(2, 3))
"""


def _dim_or_other(name: str, dim: Any, other: Any) -> Any:
    """Return the dim or the other tensor, whichever is given; or None."""
    if other is None:
        return dim
    if dim is not None or not hasattr(other, "shape"):
        raise ArgumentError(f"{name} takes a dim, or another tensor", hint=f"write {name}(x, dim=0) or {name}(x, y)")
    return other


@composite(kinks="ties", samples=_FORM_SAMPLES)
def max(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """`max(x)`; `max(x, dim)` with indices; or the larger, `max(x, y)`."""
    second = _dim_or_other("max", dim, other)
    if hasattr(second, "shape"):
        return maximum(input, second)
    return amax(input) if second is None else _extreme_along_dim(argmax, input, dim, keepdim)


@composite(kinks="ties", samples=_FORM_SAMPLES)
def min(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """`min(x)`; `min(x, dim)` with indices; or the smaller, `min(x, y)`."""
    second = _dim_or_other("min", dim, other)
    if hasattr(second, "shape"):
        return minimum(input, second)
    return amin(input) if second is None else _extreme_along_dim(argmin, input, dim, keepdim)


@composite(samples="aminmax(randn(2, 3)); aminmax(randn(2, 3), dim=1, keepdim=True)")
def aminmax(input: Any, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element."""
    run = () if dim is None else dim
    return amin(input, run, keepdim), amax(input, run, keepdim)
