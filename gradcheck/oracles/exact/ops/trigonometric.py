"""Angles and hyperbolic functions: fractions of the tangent of half the angle, and of the exponential."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.ops.exp_log_pow import exp, root
from gradcheck.oracles.exact.rules import exact_rule
from gradcheck.oracles.exact.uninterpreted import Slope, chain_rule, chain_rule_of_two, odd, of_two, uninterpreted


def _half_angle(x: Dual) -> Dual:
    """The tangent of half the angle: odd, with the derivative `(1 + t^2) / 2`."""
    t = odd("tan(x / 2)", x)
    return chain_rule(x, t, lambda: (1 + t * t) / 2)


@exact_rule("sin")
def _sin(x: Dual) -> Dual:
    t = _half_angle(x)
    return (t + t) / (1 + t * t)


@exact_rule("cos")
def _cos(x: Dual) -> Dual:
    t = _half_angle(x)
    return (1 - t * t) / (1 + t * t)


@exact_rule("tan")
def _tan(x: Dual) -> Dual:
    t = _half_angle(x)
    return (t + t) / (1 - t * t)


@exact_rule("tanh")
def tanh(x: Dual) -> Dual:
    """`(e^2 - 1) / (e^2 + 1)`, of derivative `1 - tanh(x)^2`."""
    e = exp(x.primal())
    value = (e * e - 1) / (e * e + 1)
    return chain_rule(x, value, lambda: 1 - value * value)


@exact_rule("atan2", operands=(0, 1))
def _atan2(a: Dual, b: Dual) -> Dual:
    p, q = a.primal(), b.primal()
    scale = 1 / (p * p + q * q)
    return chain_rule_of_two(of_two("atan2", a, b), (a, lambda: q * scale), (b, lambda: -(p * scale)))


def _angle(name: str, x: Dual) -> Any:
    """By the very number that the forward multiplies with."""
    return x * TABLE[name].forward(np.ones(()))


def _slope(name: str, x: Dual) -> Slope:
    """The derivative of an inverse function at x."""
    slopes: dict[str, Slope] = {
        "asin": lambda: 1 / root(1 - x * x),
        "acos": lambda: -1 / root(1 - x * x),
        "atan": lambda: 1 / (1 + x * x),
        "asinh": lambda: 1 / root(1 + x * x),
        "acosh": lambda: 1 / (root(x - 1) * root(x + 1)),
        "atanh": lambda: 1 / (1 - x * x),
    }
    return slopes[name]


exact_rule("sinc")(lambda x: _sin(math.pi * x) / (math.pi * x))
exact_rule("sinh")(lambda x: (exp(x) - 1 / exp(x)) / 2)
exact_rule("cosh")(lambda x: (exp(x) + 1 / exp(x)) / 2)
for _name in ("asin", "atan", "asinh", "atanh"):
    exact_rule(_name)(lambda x, name=_name: chain_rule(x, odd(name, x), _slope(name, x.primal())))
for _name in ("acos", "acosh"):
    exact_rule(_name)(lambda x, name=_name: chain_rule(x, uninterpreted(name, x), _slope(name, x.primal())))
for _name in ("deg2rad", "rad2deg"):
    exact_rule(_name)(partial(_angle, _name))
