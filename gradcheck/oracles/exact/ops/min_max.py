"""Maximum and minimum, of two or of many, and their positions.

The largest of many is a sum of the elements, each with an uninterpreted weight that is 1 for the largest. So `argmax`
returns these weights (`Positions`): a gather is the sum of all elements with their weights, and a scatter goes to all
places.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.autograd.ops.common.dims import reduced_axes
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact.degree import CONSTANT, PIECEWISE, Degree
from gradcheck.oracles.exact.dual_numbers import Dual, apply_rule, exact_rule, lift
from gradcheck.oracles.exact.field_point import as_small_integers
from gradcheck.oracles.exact.ops.activations import clamped
from gradcheck.oracles.exact.ops.elementwise import branch_indicator, piecewise_degree, select
from gradcheck.oracles.exact.ops.linear import apply_linear
from gradcheck.oracles.exact.ops.reductions import drop_dims, sum_axes
from gradcheck.oracles.exact.uninterpreted_functions import up_to_sign

exact_rule("maximum", "fmax", operands=(0, 1))(
    lambda a, b: select(branch_indicator(a.add_formally(b, -1).primal(), 0.5), a, b)
)
exact_rule("minimum", "fmin", operands=(0, 1))(
    lambda a, b: select(branch_indicator(b.add_formally(a, -1).primal(), 0.5), a, b)
)


@exact_rule("clamp")
def _clamp(x: Dual, low: Any = None, high: Any = None) -> Any:
    if low is not None and high is not None:
        if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
            raise Unsupported("clamp between two tensors")
        return clamped(x, low, high)
    bound = lift(x.point, high if low is None else low)
    return select(
        branch_indicator((bound.add_formally(x, -1) if low is None else x.add_formally(bound, -1)).primal(), 1),
        x,
        bound,
    )


def _extreme_over_dims(name: str, x: Dual, dim: Any = (), keepdim: bool = False) -> Dual:
    """Return the extreme; ties are single points, unless x is piecewise."""
    run = reduced_axes(dim, x.ndim)
    if not run:
        return x
    weights = _weights(name, x.primal(), run)
    found = sum_axes(x * weights, run, True)
    if not x.degree.kinds & PIECEWISE and not x.point.integer_scale:
        _define_ties(name, x.add_formally(found, -1).primal(), weights, run)
    return found if keepdim else drop_dims(found, run)


for _name in ("amax", "amin"):
    exact_rule(_name)(partial(_extreme_over_dims, _name))


def _define_ties(name: str, difference: Dual, weights: Dual, run: tuple[int, ...]) -> None:
    """Define which elements equal the extreme, by uninterpreted weights."""
    point, kind = difference.point, difference.degree.join(weights.degree)
    if point.regions.phase == "graph":
        point.regions.compared.add(up_to_sign(difference)[0])
    each = point.value(f"{name} of ties", weights.value, weights.degree)
    number = point.value(f"{name}, how many", each.sum(axis=run, keepdims=True) % point.prime, weights.degree)
    point.define("==", up_to_sign(difference)[0], weights.value * number % point.prime, kind.times(Degree(1)))


def _weights(name: str, x: Dual, run: tuple[int, ...]) -> Dual:
    """Return uninterpreted weights with sum 1, independent of the order."""
    if not x.value.size:
        raise Unsupported(f"{name} of nothing")
    point = x.point
    if point.integer_scale:
        return _largest(name, x, run)
    each = point.value(f"{name} of", x.value, x.degree)
    together = each.sum(axis=run, keepdims=True) % point.prime
    drawn = point.value(name, (each + 2 * together) % point.prime, x.degree.join(Degree(1)))
    shares = Dual(point, drawn, None, piecewise_degree(x))
    return shares / sum_axes(shares, run, True)


def _largest(name: str, x: Dual, run: tuple[int, ...]) -> Dual:
    """Return 1 for the extreme integer. Raises Unsupported for ties."""
    values = as_small_integers(x.value, x.point.prime) * (1 if name == "amax" else -1)
    first = (values == values.max(axis=run, keepdims=True)).astype(np.int64)
    if (first.sum(axis=run) > 1).any():
        raise Unsupported("a point at a tie")
    return Dual(x.point, first, None, CONSTANT)


class Positions:
    """The result of `argmax` along one dimension, for gather and scatter only."""

    __slots__ = ("dim", "keepdim", "weights")
    dtype = np.dtype(np.int64)

    def __init__(self, weights: Dual, dim: int, keepdim: bool) -> None:
        self.weights, self.dim, self.keepdim = weights, dim, keepdim

    @property
    def shape(self) -> tuple[int, ...]:
        before, after = self.weights.shape[: self.dim], self.weights.shape[self.dim + 1 :]
        return (*before, 1, *after) if self.keepdim else (*before, *after)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        if op.name == "squeeze":
            return _squeezed(args[0], *args[1:])
        if op.name not in ("gather", "scatter_add"):
            raise Unsupported(f"{op.name} of positions that depend on values")
        return apply_rule(next(arg for arg in args if isinstance(arg, Positions)).weights.point, op, args)


def _squeezed(positions: Positions, dim: Any) -> Positions:
    if not positions.keepdim or not isinstance(dim, int) or dim % positions.ndim != positions.dim:
        raise Unsupported("positions that are rearranged")
    return Positions(positions.weights, positions.dim, keepdim=False)


def _position(name: str, x: Dual, dim: Any = None, keepdim: bool = False) -> Positions:
    if dim is None or not x.ndim:
        raise Unsupported(f"arg{name[1:]} without a dimension")
    axis = dim % x.ndim
    return Positions(_weights(name, x.primal(), (axis,)), axis, keepdim)


exact_rule("argmax")(partial(_position, "amax"))
exact_rule("argmin")(partial(_position, "amin"))


def _are_positions_in(positions: Any, dim: int, x: Dual) -> bool:
    """Return whether these are positions in x. Raises Unsupported for another."""
    if not isinstance(positions, Positions):
        return False
    if not positions.keepdim or dim % x.ndim != positions.dim or x.shape != positions.weights.shape:
        raise Unsupported("positions in another tensor")
    return True


@exact_rule("gather")
def _gather(x: Dual, dim: int, index: Any, *settings: Any) -> Dual:
    if not _are_positions_in(index, dim, x):
        return apply_linear("gather", x, dim, index, *settings)
    return sum_axes(x * index.weights, dim, True)


@exact_rule("scatter_add", operands=(0, 3))
def _scatter_add(x: Dual, dim: int, index: Any, source: Dual) -> Any:
    if not _are_positions_in(index, dim, x):
        return apply_linear("scatter_add", x, dim, index, source)
    return x + source * index.weights
