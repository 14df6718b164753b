"""Angles and hyperbolic functions: fractions of the tangent of half the angle, and of the exponential."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.oracles.exact.algebra import constant, minus, one, over, plus, reciprocal, squared, times
from gradcheck.oracles.exact.dual import Dual, exact_rule
from gradcheck.oracles.exact.ops.power import root
from gradcheck.oracles.exact.uninterpreted import chain_rule, chain_rule_of_two, exp, odd, of_two, uninterpreted


def _half_angle(x: Dual) -> Dual:
    """The tangent of half the angle: odd, with the derivative `(1 + t^2) / 2`."""
    t = odd("tan(x / 2)", x)
    return chain_rule(x, t, lambda: over(plus(one(x), squared(t)), constant(x, 2)))


def _sine(x: Dual) -> Dual:
    t = _half_angle(x)
    return over(plus(t, t), plus(one(x), squared(t)))


@exact_rule("sin")
def _sin(op: Op, x: Dual) -> Dual:
    return _sine(x)


@exact_rule("cos")
def _cos(op: Op, x: Dual) -> Dual:
    square = squared(_half_angle(x))
    return over(minus(one(x), square), plus(one(x), square))


@exact_rule("tan")
def _tan(op: Op, x: Dual) -> Dual:
    t = _half_angle(x)
    return over(plus(t, t), minus(one(x), squared(t)))


@exact_rule("sinc")
def _sinc(op: Op, x: Dual) -> Dual:
    angle = times(constant(x, np.pi), x)
    return over(_sine(angle), angle)


@exact_rule("atan2", operands=(0, 1))
def _atan2(op: Op, a: Dual, b: Dual) -> Dual:
    p, q = a.primal(), b.primal()
    scale = reciprocal(plus(squared(p), squared(q)))
    value = of_two("atan2", a, b)
    return chain_rule_of_two(value, (a, lambda: times(q, scale)), (b, lambda: times(times(p, scale), constant(a, -1))))


@exact_rule("asin", "asinh")
def _asin(op: Op, x: Dual) -> Dual:
    return chain_rule(x, odd(op.name, x), lambda: _beside_square(x, -1 if op.name == "asin" else 1))


@exact_rule("acos")
def _acos(op: Op, x: Dual) -> Dual:
    return chain_rule(x, uninterpreted("acos", x), lambda: times(_beside_square(x, -1), constant(x, -1)))


def _beside_square(x: Dual, sign: int) -> Dual:
    """`1 / sqrt(1 ± x^2)`."""
    return reciprocal(root(plus(one(x), squared(x.primal()), sign)))


@exact_rule("acosh")
def _acosh(op: Op, x: Dual) -> Dual:
    """Of derivative `1 / (sqrt(x - 1) sqrt(x + 1))`."""
    still = x.primal()

    def slope() -> Dual:
        return reciprocal(times(root(minus(still, one(x))), root(plus(still, one(x)))))

    return chain_rule(x, uninterpreted("acosh", x), slope)


@exact_rule("atan", "atanh")
def _atan(op: Op, x: Dual) -> Dual:
    sign = 1 if op.name == "atan" else -1
    return chain_rule(x, odd(op.name, x), lambda: reciprocal(plus(one(x), squared(x.primal()), sign)))


# Hyperbolic functions ------------------------------------------------------------------------------


def tanh(x: Dual) -> Dual:
    """`(e^2 - 1) / (e^2 + 1)`, of derivative `1 - tanh(x)^2`."""
    square = squared(exp(x.primal()))
    value = over(minus(square, one(x)), plus(square, one(x)))
    return chain_rule(x, value, lambda: minus(one(x), squared(value)))


@exact_rule("tanh")
def _tanh(op: Op, x: Dual) -> Dual:
    return tanh(x)


@exact_rule("sinh", "cosh")
def _hyperbolic(op: Op, x: Dual) -> Dual:
    e = exp(x)
    return over(plus(e, reciprocal(e), -1 if op.name == "sinh" else 1), constant(x, 2))
