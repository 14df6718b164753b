"""Arithmetic and rounding, comparisons and logic, and choices that rest on them, element by element.

Which side of a comparison an element is on is an uninterpreted residue (`Indicator`), the same for the same comparison.
What is proved for all residues holds for 0 and 1, so `where(c, a, b)` is `b + c (a - b)`. For values that are not
piecewise themselves, `x = 0` is a matter of single points, at which a gradient may be anything: there `x >= 0` is
`x > 0`, and `-x > 0` is its opposite.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact.degree import CONSTANT, PIECEWISE, UNINTERPRETED, Degree
from gradcheck.oracles.exact.dual import Dual, Indicator, exact_rule
from gradcheck.oracles.exact.ops.linear import linear
from gradcheck.oracles.exact.point import FieldPoint
from gradcheck.oracles.exact.uninterpreted import up_to_sign


@exact_rule("div", operands=(0, 1))
def divide(a: Dual, b: Dual, rounding: str | None = None) -> Any:
    """`a / b`, as it is, or rounded by the op of this name."""
    return a / b if rounding is None else TABLE[rounding]((a / b).primal())


exact_rule("add", operands=(0, 1))(lambda a, b, alpha: a + (b if alpha == 1 else b * alpha))
exact_rule("sub", operands=(0, 1))(lambda a, b, alpha: a - (b if alpha == 1 else b * alpha))
exact_rule("mul", operands=(0, 1))(lambda a, b: a * b)
exact_rule("reciprocal")(lambda x: x.reciprocal())
exact_rule("lerp", operands=(0, 1, 2))(lambda start, end, weight: start + weight * (end - start))
exact_rule("hypot", operands=(0, 1))(lambda a, b: (a * a + b * b).sqrt())
exact_rule("sign", "sgn")(lambda x: (x > 0) - (x < 0))
exact_rule("abs")(lambda x: x * x.sign())


# Comparisons -------------------------------------------------------------------------------------


def piecewise(x: Dual) -> Degree:
    """Of an uninterpreted value that x decides by its order or its size."""
    return Degree(1, kinds=x.degree.kinds | UNINTERPRETED | PIECEWISE)


def _indicator(x: Dual, value: np.ndarray) -> Indicator:
    return Indicator(x.point, value, None, piecewise(x))


def positive(x: Dual) -> Indicator:
    """Whether each element is positive."""
    point = x.point
    _count_zero_tests(x)
    if x.degree.kinds & PIECEWISE:
        value = point.value(">", x.value, x.degree)
    else:
        size, flipped = up_to_sign(x)
        value = point.value(">", size, x.degree)
        value = np.where(flipped, (1 - value) % point.prime, value)
    return _indicator(x, point.defined(">", x.value, np.where(x.value == 0, 0, value)))


def _count_zero_tests(x: Dual) -> None:
    """What is not 0 may be 0 at this point, by chance."""
    x.point.zero_tests += x.degree.numerator * x.value.size


def select(c: Dual, a: Dual, b: Dual) -> Dual:
    """`a` where the condition holds, `b` elsewhere."""
    return b.plus(c * a.plus(b, -1))


exact_rule("gt", operands=(0, 1))(lambda a, b: positive(a.plus(b, -1).primal()))
exact_rule("lt", operands=(0, 1))(lambda a, b: positive(b.plus(a, -1).primal()))
exact_rule("ge", operands=(0, 1))(lambda a, b: ~(a < b))
exact_rule("le", operands=(0, 1))(lambda a, b: ~(a > b))


@exact_rule("eq", operands=(0, 1))
def _equal(a: Dual, b: Dual) -> Any:
    """What is the same at a random point is the same; what is not, is not but at single points, or piecewise."""
    difference = a.plus(b, -1).primal()
    _count_zero_tests(difference)
    same = difference.value == 0
    if not difference.degree.kinds & PIECEWISE:
        return same
    value = a.point.value("==", up_to_sign(difference)[0], difference.degree)
    return _indicator(difference, np.where(same, 1, value))


exact_rule("ne", operands=(0, 1))(lambda a, b: ~_equal(a, b))


# Logic -----------------------------------------------------------------------------------------------


def conditions(*values: Any) -> list[Indicator]:
    """Conditions, and plain truth values beside them. Raises Unsupported for other dual numbers."""
    point = next(value.point for value in values if isinstance(value, Dual))
    return [value if isinstance(value, Indicator) else _lifted(point, value) for value in values]


def _lifted(point: FieldPoint, value: Any) -> Indicator:
    if isinstance(value, Dual):
        raise Unsupported("numbers taken for truth values")
    return Indicator(point, np.asarray(value, dtype=np.bool_).astype(np.int64), None, CONSTANT)


@exact_rule("bitwise_not", "logical_not")
def _not(c: Dual) -> Indicator:
    (c,) = conditions(c)
    return _indicator(c, (1 - c.value) % c.point.prime)


@exact_rule("bitwise_and", "logical_and", operands=())
def _and(a: Any, b: Any) -> Indicator:
    a, b = conditions(a, b)
    both = a * b
    return Indicator(both.point, both.value, None, both.degree)


exact_rule("bitwise_or", "logical_or", operands=())(lambda a, b: _not(_and(*map(_not, conditions(a, b)))))


@exact_rule("where", operands=(1, 2))
def _where(condition: Any, a: Dual, b: Dual) -> Dual:
    if not isinstance(condition, Dual):
        return linear("where", condition, a, b)
    (c,) = conditions(condition)
    return select(c, a, b)


def _is_special(name: str, x: Dual) -> np.ndarray:
    if x.point.has_infinity:
        raise Unsupported(f"{name} where there are infinities")
    return np.full(x.shape, name == "isfinite")


for _name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf"):
    exact_rule(_name)(partial(_is_special, _name))


# Steps, and what is left of a number beside them -------------------------------------------------


def _step(name: str, x: Dual, decimals: Any = 0) -> Dual:
    """Some number, whose derivative is 0."""
    function = f"{name} to {decimals}" if decimals else name
    return Dual(x.point, x.point.value(function, x.value, x.degree), None, piecewise(x))


for _name in ("floor", "ceil", "trunc", "round"):
    exact_rule(_name)(partial(_step, _name))
exact_rule("frac")(lambda x: x - x.trunc())
exact_rule("floor_divide", operands=(0, 1))(lambda a, b: divide(a, b, "floor"))
exact_rule("remainder", operands=(0, 1))(lambda a, b: a - b * divide(a, b, "floor"))
exact_rule("fmod", operands=(0, 1))(lambda a, b: a - b * divide(a, b, "trunc"))
