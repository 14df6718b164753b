"""Where the largest elements stand: one of all places, each with a truth value that says whether it is the one.

What is gathered there is the sum of all elements with these weights, and what is scattered goes to all places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact.dual import ACTIONS, Residue, acts_on, lift
from gradcheck.oracles.exact.ops.arithmetic import plus, summed, times
from gradcheck.oracles.exact.ops.layout import linear
from gradcheck.oracles.exact.ops.piecewise import extreme_weights
from gradcheck.oracles.exact.point import Point


class Places:
    """What `argmax` gives along one dimension. Nothing else is done with places than to gather and to scatter."""

    __slots__ = ("dim", "keepdim", "weights")
    dtype = np.dtype(np.int64)

    def __init__(self, weights: Residue, dim: int, keepdim: bool) -> None:
        self.weights, self.dim, self.keepdim = weights, dim, keepdim

    @property
    def shape(self) -> tuple[int, ...]:
        kept = ((axis, size) for axis, size in enumerate(self.weights.shape) if axis != self.dim or self.keepdim)
        return tuple(1 if axis == self.dim else size for axis, size in kept)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        if op.name not in ("gather", "scatter_add", "squeeze"):
            raise Unsupported(f"{op.name} of places that are made up")
        point = next(arg for arg in args if isinstance(arg, Places)).weights.point
        if op.name == "squeeze":
            return _squeezed(args[0], *args[1:])
        return ACTIONS[op.name](point, op, *args)


def _squeezed(places: Places, dim: Any) -> Places:
    if not places.keepdim or not isinstance(dim, int) or dim % places.ndim != places.dim:
        raise Unsupported("places that are rearranged")
    return Places(places.weights, places.dim, keepdim=False)


@acts_on("argmax", "argmin")
def _argmax(point: Point, op: Op, x: Residue, dim: Any = None, keepdim: bool = False) -> Places:
    if dim is None or not x.ndim:
        raise Unsupported(f"{op.name} without a dimension")
    axis = dim % x.ndim
    return Places(extreme_weights("amax" if op.name == "argmax" else "amin", x.still(), (axis,)), axis, keepdim)


def _is_along(places: Any, dim: int, x: Any) -> bool:
    if not isinstance(places, Places):
        return False
    if not places.keepdim or dim % x.ndim != places.dim or tuple(x.shape) != places.weights.shape:
        raise Unsupported("places of another tensor")
    return True


@acts_on("gather")
def _gather(point: Point, op: Op, x: Any, dim: int, index: Any, *settings: Any) -> Residue:
    if not _is_along(index, dim, x):
        return linear(point, op, x, dim, index, *settings)
    return summed(times(lift(point, x), index.weights), dim, True)


@acts_on("scatter_add")
def _scatter_add(point: Point, op: Op, x: Any, dim: int, index: Any, source: Any) -> Residue:
    if not _is_along(index, dim, x):
        return linear(point, op, x, dim, index, source)
    return plus(lift(point, x), times(lift(point, source), index.weights))
