"""Arithmetic, rounding, comparisons, logic and choices, by element.

The side of a comparison is an uninterpreted residue (`Indicator`), the same for the same comparison. What is proved for
all residues holds for 0 and 1, so `where(c, a, b)` is `b + c (a - b)`. If the graph itself compares x with 0, `x = 0`
holds at single points, at which a gradient may be anything: there `x >= 0` is `x > 0`, and `-x > 0` is its opposite. If
only a formula compares, or a value may be 0 in a whole region (`sqrt(x * x) - x`), `x == 0` is an uninterpreted residue
too; if it may be NaN, all comparisons are independent.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact.degree import BRANCHED, CONSTANT, PARTIAL, PIECEWISE, UNINTERPRETED, Degree
from gradcheck.oracles.exact.dual_numbers import Dual, Indicator, exact_rule
from gradcheck.oracles.exact.field_point import FieldPoint, as_small_integers
from gradcheck.oracles.exact.ops.linear import apply_linear
from gradcheck.oracles.exact.uninterpreted_functions import combine_arguments, up_to_sign


@exact_rule("div", operands=(0, 1))
def divide(a: Dual, b: Dual, rounding: str | None = None) -> Any:
    """Return `a / b`, or its rounding by the op of this name."""
    return a / b if rounding is None else TABLE[rounding]((a / b).primal())


exact_rule("add", operands=(0, 1))(lambda a, b, alpha: a + (b if alpha == 1 else b * alpha))
exact_rule("sub", operands=(0, 1))(lambda a, b, alpha: a - (b if alpha == 1 else b * alpha))
exact_rule("mul", operands=(0, 1))(lambda a, b: a * b)
exact_rule("reciprocal")(lambda x: x.reciprocal())
exact_rule("lerp", operands=(0, 1, 2))(lambda start, end, weight: start + weight * (end - start))
exact_rule("hypot", operands=(0, 1))(lambda a, b: (a * a + b * b).sqrt())
exact_rule("sign", "sgn")(lambda x: (x > 0) - (x < 0))
exact_rule("abs")(lambda x: x * (branch_indicator(x.primal()) - branch_indicator(-x.primal())))


# Comparisons -------------------------------------------------------------------------------------


def piecewise_degree(x: Dual) -> Degree:
    """Return the degree of an uninterpreted value that x's order decides."""
    return Degree(1, kinds=x.degree.kinds | UNINTERPRETED | PIECEWISE)


def _indicator(x: Dual, value: np.ndarray) -> Indicator:
    return Indicator(x.point, value, None, piecewise_degree(x))


def positive(x: Dual) -> Indicator:
    """Return whether x is positive; `-x > 0` is its opposite but at 0."""
    point = x.point
    if point.integer_scale:
        return Indicator(point, (integer_values(x) > 0).astype(np.int64), None, CONSTANT)
    _count_zero_tests(x)
    if x.degree.kinds & PIECEWISE or _may_be_undefined(x):
        value = point.value(">", x.value, x.degree)
    else:
        size, flipped = up_to_sign(x)
        value = point.value(">", size, x.degree)
        value = np.where(flipped, (1 - value - _zero_residues(x, size)) % point.prime, value)
    return _indicator(x, point.defined_values(">", x.value, np.where(x.value == 0, 0, value)))


def integer_values(x: Dual) -> np.ndarray:
    """Return the integers of x. Raises Unsupported at a kink of the graph."""
    found = as_small_integers(x.value, x.point.prime)
    if x.point.regions.phase == "graph" and not found.all():
        raise Unsupported("a point at a kink")
    return found


def branch_indicator(x: Dual, at_zero: float = 0) -> Dual:
    """Return `positive(x)` for a choice between two that are equal at x = 0."""
    # 0 matters only if x may be 0 in a whole region: there it is torch's derivative
    if x.degree.kinds:
        found: Dual = positive(x)
        return found if not at_zero else found + at_zero * _where_zero(x)
    regions, phase = x.point.regions, x.point.regions.phase
    try:
        regions.phase = "graph" if phase == "graph" else "rule"
        return positive(x)
    finally:
        regions.phase = phase


def _where_zero(x: Dual) -> Any:
    if x.degree.kinds & PIECEWISE or _may_be_undefined(x):
        return 0
    return Dual(x.point, _zero_residues(x, up_to_sign(x)[0]), None, piecewise_degree(x))


def _zero_residues(x: Dual, size: np.ndarray) -> np.ndarray:
    """Return whether x, of this size, is 0: an uninterpreted number, or 0.

    It is 0 if `x = 0` holds at single points: if the graph compares it too, and if x is no function that may vanish in
    a region without vanishing everywhere.
    """
    point, regions = x.point, x.point.regions
    if point.integer_scale:
        integer_values(x)
        return np.zeros((), dtype=np.int64)
    if regions.phase == "graph":
        regions.compared.add(size)
    may_vanish = bool(x.degree.kinds & BRANCHED)
    if regions.phase != "claim" and not may_vanish:
        return np.zeros((), dtype=np.int64)
    known = (
        regions.are_never_zero(x.value)
        if may_vanish
        else regions.are_never_zero(x.value) | regions.compared.contains(size)
    )
    if known.all():
        return np.zeros((), dtype=np.int64)
    return np.where(known, 0, point.value("==", size, x.degree))


def _may_be_undefined(x: Dual) -> bool:
    """Return whether a formula compares what may be undefined in the graph."""
    if not x.degree.kinds & PARTIAL or x.point.integer_scale:
        return False
    return not bool(x.point.regions.compared.contains(up_to_sign(x)[0]).all())


def _count_zero_tests(x: Dual) -> None:
    """Count the tests that may find 0 by chance."""
    x.point.zero_tests += x.degree.numerator * x.value.size


def select(c: Dual, a: Dual, b: Dual) -> Dual:
    """Return `a` where the condition holds, `b` elsewhere."""
    return b.add_formally(c * a.add_formally(b, -1))


exact_rule("gt", operands=(0, 1))(lambda a, b: positive(a.add_formally(b, -1).primal()))
exact_rule("lt", operands=(0, 1))(lambda a, b: positive(b.add_formally(a, -1).primal()))


def _from_zero(x: Dual) -> Indicator:
    if _may_be_undefined(x):
        return _indicator(x, x.point.value(">=", x.value, x.degree))
    return _not(positive(-x))


exact_rule("ge", operands=(0, 1))(lambda a, b: _from_zero(a.add_formally(b, -1).primal()))
exact_rule("le", operands=(0, 1))(lambda a, b: _from_zero(b.add_formally(a, -1).primal()))


@exact_rule("eq", operands=(0, 1))
def _equal(a: Dual, b: Dual) -> Any:
    """Return equality of residues, as far as it is known of the numbers."""
    # different ones are different but at single points of the graph, or unknown
    difference = a.add_formally(b, -1).primal()
    _count_zero_tests(difference)
    if _may_be_undefined(difference):
        both = combine_arguments(a.primal(), b.primal())
        return _indicator(difference, a.point.value("==, defined or not,", both.value, both.degree))
    same = difference.value == 0
    size = up_to_sign(difference)[0]
    is_piecewise = difference.degree.kinds & PIECEWISE and not a.point.integer_scale
    value = a.point.value("==", size, difference.degree) if is_piecewise else _zero_residues(difference, size)
    if not value.any():
        return same
    return _indicator(difference, np.where(same, 1, value))


exact_rule("ne", operands=(0, 1))(lambda a, b: ~_equal(a, b))


# Logic -----------------------------------------------------------------------------------------------


def as_indicators(*values: Any) -> list[Indicator]:
    """Return conditions as indicators. Raises Unsupported for other numbers."""
    point = next(value.point for value in values if isinstance(value, Dual))
    return [value if isinstance(value, Indicator) else _as_indicator(point, value) for value in values]


def _as_indicator(point: FieldPoint, value: Any) -> Indicator:
    if isinstance(value, Dual):
        raise Unsupported("numbers taken for truth values")
    return Indicator(point, np.asarray(value, dtype=np.bool_).astype(np.int64), None, CONSTANT)


@exact_rule("bitwise_not", "logical_not")
def _not(c: Dual) -> Indicator:
    (c,) = as_indicators(c)
    return _indicator(c, (1 - c.value) % c.point.prime)


@exact_rule("bitwise_and", "logical_and", operands=())
def _and(a: Any, b: Any) -> Indicator:
    a, b = as_indicators(a, b)
    both = a * b
    return Indicator(both.point, both.value, None, both.degree)


exact_rule("bitwise_or", "logical_or", operands=())(lambda a, b: _not(_and(*map(_not, as_indicators(a, b)))))


@exact_rule("where", operands=(1, 2))
def _where(condition: Any, a: Dual, b: Dual) -> Dual:
    if not isinstance(condition, Dual):
        return apply_linear("where", condition, a, b)
    (c,) = as_indicators(condition)
    return select(c, a, b)


def _is_special(name: str, x: Dual) -> Any:
    """Return whether x is NaN or infinite: unknown for a formula's own tests."""
    regions = x.point.regions
    if x.point.has_infinity:
        raise Unsupported(f"{name} where there are infinities")
    if regions.phase == "graph":
        regions.finite.add(x.value)
    elif regions.phase == "claim" and not x.point.integer_scale and not regions.finite.contains(x.value).all():
        return _indicator(x, x.point.value(name, x.value, x.degree))
    return np.full(x.shape, name == "isfinite")


for _name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf"):
    exact_rule(_name)(partial(_is_special, _name))


# Steps, and what is left of a number beside them -------------------------------------------------


def _step_function(name: str, x: Dual, decimals: Any = 0) -> Dual:
    """Return an uninterpreted number with the derivative 0."""
    if x.point.integer_scale:
        integer_values(x)
        return Dual(x.point, x.value, None, CONSTANT)
    function = f"{name} to {decimals}" if decimals else name
    return Dual(x.point, x.point.value(function, x.value, x.degree), None, piecewise_degree(x))


for _name in ("floor", "ceil", "trunc", "round"):
    exact_rule(_name)(partial(_step_function, _name))
exact_rule("frac")(lambda x: x - x.trunc())
exact_rule("floor_divide", operands=(0, 1))(lambda a, b: divide(a, b, "floor"))
exact_rule("remainder", operands=(0, 1))(lambda a, b: a - b * divide(a, b, "floor"))
exact_rule("fmod", operands=(0, 1))(lambda a, b: a - b * divide(a, b, "trunc"))
