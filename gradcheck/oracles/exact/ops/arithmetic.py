"""Sums, differences, products, quotients and remainders, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.oracles.exact.algebra import apply, constant, minus, over, plus, reciprocal, squared, times
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.dual import Dual, exact_rule
from gradcheck.oracles.exact.ops.power import root, square


@exact_rule("add", "sub", operands=(0, 1))
def _add(op: Op, a: Dual, b: Dual, alpha: Any = 1) -> Dual:
    total = plus(a, b if alpha == 1 else times(b, constant(a, alpha)), 1 if op.name == "add" else -1)
    return _absorbed(total, a, b) if a.point.has_infinity else total


def _absorbed(total: Dual, a: Dual, b: Dual) -> Dual:
    """A sum with minus infinity is minus infinity."""
    endless = total.point.infinity(-1)
    where = (a.value == endless) | (b.value == endless)
    value = np.where(where, endless, total.value)
    tangent = None if total.tangent is None else np.where(where, 0, total.tangent)
    return Dual(total.point, value, tangent, total.degree.join(Degree(1)))


@exact_rule("mul", operands=(0, 1))
def _mul(op: Op, a: Dual, b: Dual) -> Dual:
    return square(a) if a is b else times(a, b)


@exact_rule("div", operands=(0, 1))
def _div(op: Op, a: Dual, b: Dual, rounding_mode: Any = None) -> Dual:
    return over(a, b) if rounding_mode is None else _rounded_quotient(a, b, rounding_mode)


def _rounded_quotient(a: Dual, b: Dual, rounding: str) -> Dual:
    return apply(rounding, over(a, b).primal())


@exact_rule("floor_divide", operands=(0, 1))
def _floor_divide(op: Op, a: Dual, b: Dual) -> Dual:
    return _rounded_quotient(a, b, "floor")


@exact_rule("remainder", "fmod", operands=(0, 1))
def _remainder(op: Op, a: Dual, b: Dual) -> Dual:
    return minus(a, times(b, _rounded_quotient(a, b, "floor" if op.name == "remainder" else "trunc")))


@exact_rule("reciprocal")
def _reciprocal(op: Op, x: Dual) -> Dual:
    return reciprocal(x)


@exact_rule("lerp", operands=(0, 1, 2))
def _lerp(op: Op, start: Dual, end: Dual, weight: Dual) -> Dual:
    return plus(start, times(weight, minus(end, start)))


@exact_rule("hypot", operands=(0, 1))
def _hypot(op: Op, a: Dual, b: Dual) -> Dual:
    return root(plus(squared(a), squared(b)))


@exact_rule("deg2rad", "rad2deg")
def _angle(op: Op, x: Dual) -> Dual:
    """By the very number that the forward multiplies with."""
    return times(x, constant(x, op.forward(np.ones(()))))
