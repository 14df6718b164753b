"""Functions in pieces: which piece an element lies on is a truth value, of which nothing is assumed.

A truth value is a made-up residue, the same for the same comparison; what is proved for all residues holds for 0 and 1.
So `where(c, a, b)` is `b + c (a - b)`. For values that are made of no truth values themselves, `x = 0` is a matter of
single points, at which a gradient may be anything: there `x >= 0` is `x > 0`, and `-x > 0` is its opposite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE, Op
from gradcheck.autograd.ops.common.dims import axes
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact.degree import MADE_UP, PIECES, Degree
from gradcheck.oracles.exact.dual import Residue, Truth, acts_on, lift
from gradcheck.oracles.exact.ops.arithmetic import one, plus, reciprocal, summed, times
from gradcheck.oracles.exact.ops.functions import sigmoid
from gradcheck.oracles.exact.ops.layout import linear
from gradcheck.oracles.exact.ops.powers import root
from gradcheck.oracles.exact.point import Point
from gradcheck.oracles.exact.uninterpreted import exp, log, mirrored, number, smooth


def _truth(x: Residue, value: np.ndarray) -> Truth:
    return Truth(x.point, value, None, Degree(1, kind=x.degree.kind | MADE_UP | PIECES))


def positive(x: Residue) -> Truth:
    """Whether each element is positive."""
    point = x.point
    _chances(x)
    if x.degree.kind & PIECES:
        value = point.made_up(">", x.value, x.degree)
    else:
        size, turned = mirrored(x)
        found = point.made_up(">", size, x.degree)
        value = np.where(turned, (1 - found) % point.prime, found)
    return _truth(x, point.known(">", x.value, np.where(x.value == 0, 0, value)))


def _chances(x: Residue) -> None:
    """What is not 0 may be 0 by chance."""
    x.point.chance += x.degree.top * x.value.size


def unless(truth: Truth) -> Truth:
    """Its opposite."""
    return _truth(truth, (1 - truth.value) % truth.point.prime)


def both(a: Truth, b: Truth) -> Truth:
    product = times(a, b)
    return Truth(a.point, product.value, None, product.degree)


def choose(truth: Residue, a: Residue, b: Residue) -> Residue:
    """`a` where it holds, `b` elsewhere."""
    return plus(b, times(truth, plus(a, b, -1)))


def _difference(point: Point, a: Any, b: Any) -> Residue:
    return plus(lift(point, a), lift(point, b), -1).still()


def above(a: Residue, b: Any) -> Truth:
    """`a > b`."""
    return positive(_difference(a.point, a, b))


def below(a: Residue, b: Any) -> Truth:
    """`a < b`."""
    return positive(_difference(a.point, b, a))


acts_on("gt")(lambda point, op, a, b: positive(_difference(point, a, b)))
acts_on("lt")(lambda point, op, a, b: positive(_difference(point, b, a)))
acts_on("ge")(lambda point, op, a, b: unless(positive(_difference(point, b, a))))
acts_on("le")(lambda point, op, a, b: unless(positive(_difference(point, a, b))))


@acts_on("eq")
def _equal(point: Point, op: Op, a: Any, b: Any) -> Any:
    """What is the same at a random point is the same; what is not, is not but at single points, or in pieces."""
    difference = _difference(point, a, b)
    _chances(difference)
    same = difference.value == 0
    if not difference.degree.kind & PIECES:
        return same
    size, _ = mirrored(difference)
    value = np.where(same, 1, point.made_up("==", size, difference.degree))
    return _truth(difference, value)


@acts_on("ne")
def _unequal(point: Point, op: Op, a: Any, b: Any) -> Any:
    return _not(point, op, _equal(point, op, a, b))


def _as_truth(point: Point, value: Any) -> Truth:
    if isinstance(value, Truth):
        return value
    if isinstance(value, Residue):
        raise Unsupported("numbers taken for truth values")
    lifted = lift(point, np.asarray(value, dtype=np.bool_))
    return Truth(point, lifted.value, None, lifted.degree)


@acts_on("bitwise_not", "logical_not")
def _not(point: Point, op: Op, a: Any) -> Any:
    return ~a if isinstance(a, np.ndarray) else unless(_as_truth(point, a))


@acts_on("bitwise_and", "logical_and")
def _and(point: Point, op: Op, a: Any, b: Any) -> Truth:
    return both(_as_truth(point, a), _as_truth(point, b))


@acts_on("bitwise_or", "logical_or")
def _or(point: Point, op: Op, a: Any, b: Any) -> Truth:
    return unless(both(unless(_as_truth(point, a)), unless(_as_truth(point, b))))


@acts_on("any", "all")
def _of_all(point: Point, op: Op, x: Any, dim: Any = None, keepdim: bool = False) -> Truth:
    truth = _as_truth(point, x)
    parts = unless(truth) if op.name == "any" else truth
    for axis in sorted(axes(dim, x.ndim), reverse=True):
        parts = TABLE["prod"](parts, axis, keepdim)
    found = Truth(point, parts.value, None, parts.degree)
    return unless(found) if op.name == "any" else found


@acts_on("where")
def _where(point: Point, op: Op, truth: Any, a: Any, b: Any) -> Residue:
    if not isinstance(truth, Residue):
        return linear(point, op, truth, a, b)
    return choose(_as_truth(point, truth), lift(point, a), lift(point, b))


@acts_on("isnan", "isinf", "isfinite", "isposinf", "isneginf")
def _is_special(point: Point, op: Op, x: Residue) -> np.ndarray:
    if point.has_infinity:
        raise Unsupported(f"{op.name} where there are infinities")
    return np.full(x.shape, op.name == "isfinite")


# Rectifiers and their like ----------------------------------------------------------------------


@acts_on("sign", "sgn")
def _sign(point: Point, op: Op, x: Residue) -> Residue:
    return plus(positive(x), positive(_negative(x)), -1)


def _negative(x: Residue) -> Residue:
    return Residue(x.point, -x.value % x.point.prime, None, x.degree.still())


@acts_on("abs")
def _abs(point: Point, op: Op, x: Residue) -> Residue:
    return times(x, _sign(point, op, x))


@acts_on("relu")
def _relu(point: Point, op: Op, x: Residue) -> Residue:
    """What it leaves is positive where x is, and never negative."""
    truth = positive(x)
    found = times(x, truth)
    point.know(">", found.value, truth.value, found.degree.beside(x.degree))
    point.know(">", -found.value % point.prime, np.zeros_like(truth.value), found.degree.beside(x.degree))
    return found


@acts_on("leaky_relu")
def _leaky_relu(point: Point, op: Op, x: Residue, slope: Any = 0.01) -> Residue:
    return times(x, choose(positive(x), one(x), lift(point, slope)))


@acts_on("elu")
def _elu(point: Point, op: Op, x: Residue, alpha: Any = 1.0) -> Residue:
    """`x`, and `alpha (exp(u) - 1)` where it is `u`, the negative part of x."""
    still = x.still()
    truth, scale = positive(still), lift(point, alpha)
    grown = exp(times(still, below(still, 0)))
    value = plus(times(still, truth), times(scale, plus(grown, one(x), -1)))
    return smooth(x, value, lambda: choose(truth, one(x), times(scale, grown)))


@acts_on("softplus")
def _softplus(point: Point, op: Op, x: Residue, beta: Any = 1, threshold: Any = 20) -> Residue:
    still = x.still()
    scaled = times(still, lift(point, beta))
    large = above(scaled, threshold)
    value = choose(large, still, times(log(plus(one(x), exp(scaled))), reciprocal(lift(point, beta))))
    return smooth(x, value, lambda: choose(large, one(x), sigmoid(scaled)))


@acts_on("threshold")
def _threshold(point: Point, op: Op, x: Residue, threshold: Any, value: Any) -> Residue:
    return choose(above(x, threshold), x, lift(point, value))


def _between(x: Residue, low: Any, high: Any) -> tuple[Truth, Truth]:
    """`x >= low` and `x <= high`."""
    return unless(below(x, low)), unless(above(x, high))


@acts_on("hardtanh")
def _hardtanh(point: Point, op: Op, x: Residue, low: Any = -1.0, high: Any = 1.0) -> Residue:
    return _kept(x, low, high)


def _kept(x: Residue, low: float, high: float) -> Residue:
    if not low <= high:
        raise Unsupported(f"what is kept between {low} and {high}")
    over, under = _between(x, low, high)
    at_bounds = choose(over, times(unless(under), number(x, high)), number(x, low))
    return plus(times(x, times(over, under)), at_bounds)


@acts_on("hardshrink", "softshrink")
def _shrink(point: Point, op: Op, x: Residue, bound: Any = 0.5) -> Residue:
    over, under = _between(x, -bound, bound)
    kept = times(x, plus(one(x), times(over, under), -1))
    if op.name == "hardshrink":
        return kept
    moved = plus(unless(under), unless(over), -1)
    return plus(kept, times(moved, number(x, bound)), -1)


@acts_on("maximum", "minimum", "fmax", "fmin")
def _extreme(point: Point, op: Op, a: Any, b: Any) -> Residue:
    a, b = lift(point, a), lift(point, b)
    return choose(above(a, b) if op.name in ("maximum", "fmax") else below(a, b), a, b)


@acts_on("clamp")
def _clamp(point: Point, op: Op, x: Any, low: Any = None, high: Any = None) -> Residue:
    x = lift(point, x)
    if low is not None and high is not None:
        if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
            raise Unsupported("clamp between two tensors")
        return _kept(x, low, high)
    bound = lift(point, high if low is None else low)
    return choose(unless(above(x, bound) if low is None else below(x, bound)), x, bound)


# Steps --------------------------------------------------------------------------------------------


@acts_on("floor", "ceil", "trunc", "round")
def _step(point: Point, op: Op, x: Residue, decimals: Any = 0) -> Residue:
    """Some number, whose derivative is 0."""
    name = op.name if not decimals else f"{op.name} to {decimals}"
    value = point.made_up(name, x.value, x.degree)
    return Residue(point, value, None, Degree(1, kind=x.degree.kind | MADE_UP | PIECES))


@acts_on("frac")
def _frac(point: Point, op: Op, x: Residue) -> Residue:
    return plus(x, TABLE["trunc"](x), -1)


def _rounded_quotient(a: Residue, b: Residue, mode: str) -> Residue:
    return TABLE[mode](times(a, reciprocal(b)).still())  # type: ignore[no-any-return]


@acts_on("div")
def _div(point: Point, op: Op, a: Any, b: Any, rounding_mode: Any = None) -> Residue:
    a, b = lift(point, a), lift(point, b)
    if rounding_mode is not None:
        return _rounded_quotient(a, b, rounding_mode)
    return times(a, reciprocal(b))


@acts_on("floor_divide")
def _floor_divide(point: Point, op: Op, a: Any, b: Any) -> Residue:
    return _rounded_quotient(lift(point, a), lift(point, b), "floor")


@acts_on("remainder", "fmod")
def _remainder(point: Point, op: Op, a: Any, b: Any) -> Residue:
    a, b = lift(point, a), lift(point, b)
    return plus(a, times(b, _rounded_quotient(a, b, "floor" if op.name == "remainder" else "trunc")), -1)


# Extremes of many -----------------------------------------------------------------------------------


@acts_on("amax", "amin")
def _largest(point: Point, op: Op, x: Residue, dim: Any = (), keepdim: bool = False) -> Residue:
    """One of the elements, each with a truth value that says whether it is the one; they add up to 1.

    Ties are a matter of single points, unless x is made of pieces. Then nothing is known about who is equal.
    """
    run = axes(dim, x.ndim)
    weights = extreme_weights(op.name, x.still(), run)
    found = summed(times(x, weights), run, True) if run else x
    if not x.degree.kind & PIECES:
        difference = plus(x.still(), found.still(), -1)
        degree = difference.degree.beside(weights.degree)
        point.know("==", mirrored(difference)[0], weights.value, degree)
    if keepdim or not run:
        return found
    return TABLE["reshape"](found, tuple(n for axis, n in enumerate(x.shape) if axis not in run))  # type: ignore[no-any-return]


def extreme_weights(name: str, x: Residue, run: tuple[int, ...]) -> Residue:
    """Made-up numbers that add up to 1 over these dimensions, the same for the same elements in any order."""
    if not x.value.size:
        raise Unsupported(f"{name} of nothing")
    point = x.point
    each = point.made_up(f"{name} of", x.value, x.degree)
    together = each.sum(axis=run, keepdims=True) % point.prime
    drawn = point.made_up(name, (each + 2 * together) % point.prime, x.degree.beside(Degree(1)))
    shares = Residue(point, drawn, None, Degree(1, kind=x.degree.kind | MADE_UP | PIECES))
    return times(shares, reciprocal(summed(shares, run, True)))


@acts_on("linalg.vector_norm")
def _norm(point: Point, op: Op, x: Residue, order: Any, dim: Any, keepdim: bool, dtype: Any) -> Residue:
    run = list(axes(dim, x.ndim))
    if order == 2:
        squares = times(x, x)
        return root(summed(squares, run, keepdim) if x.ndim else squares)
    if order == 1:
        return summed(TABLE["abs"](x), run, keepdim)
    if order in (np.inf, -np.inf):
        return TABLE["amax" if order > 0 else "amin"](TABLE["abs"](x), run, keepdim)  # type: ignore[no-any-return]
    if order == 0:
        return lift(point, np.full(TABLE["sum"](np.zeros(x.shape), run, keepdim).shape, x.value.size))  # flat
    raise Unsupported(f"a norm of order {order}")
