"""Activations of neural networks: smooth ones by exponentials, others by choices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact.algebra import constant, minus, one, over, plus, reciprocal, squared, times
from gradcheck.oracles.exact.dual import Dual, Indicator, exact_rule
from gradcheck.oracles.exact.ops.comparison import above, below, negation, positive, select
from gradcheck.oracles.exact.ops.exponential import erf
from gradcheck.oracles.exact.ops.trigonometric import tanh
from gradcheck.oracles.exact.uninterpreted import chain_rule, exp, has_exponential, log


def sigmoid(x: Dual) -> Dual:
    """`e / (1 + e)`, of derivative `s (1 - s)`."""
    e = exp(x.primal())
    value = over(e, plus(one(x), e))
    return chain_rule(x, value, lambda: times(value, minus(one(x), value)))


@exact_rule("sigmoid")
def _sigmoid(op: Op, x: Dual) -> Dual:
    return sigmoid(x)


@exact_rule("silu")
def _silu(op: Op, x: Dual) -> Dual:
    return times(x, sigmoid(x))


@exact_rule("logsigmoid")
def _logsigmoid(op: Op, x: Dual) -> Dual:
    """`-log(1 + exp(-x))`, whose exponential is the sigmoid."""
    s = sigmoid(x.primal())
    value = times(log(reciprocal(s)), constant(x, -1))
    has_exponential(value, s)
    return chain_rule(x, value, lambda: minus(one(x), s))


@exact_rule("gelu")
def _gelu(op: Op, x: Dual, approximate: str = "none") -> Dual:
    """`x Phi(x)`, of derivative `Phi(x) + x phi(x)`; or by tanh (Hendrycks and Gimpel, 2016)."""
    half = constant(x, 0.5)
    if approximate != "none":
        cubed = times(constant(x, 0.044715), times(x, squared(x)))
        t = tanh(times(constant(x, math.sqrt(2 / math.pi)), plus(x, cubed)))
        return times(times(half, x), plus(one(x), t))
    still = x.primal()
    share = times(half, minus(one(x), erf(times(still, constant(x, -np.sqrt(0.5))))))
    density = times(exp(times(squared(still), constant(x, -0.5))), constant(x, 1 / np.sqrt(2 * np.pi)))
    return chain_rule(x, times(still, share), lambda: plus(share, times(still, density)))


@exact_rule("softplus")
def _softplus(op: Op, x: Dual, beta: Any = 1, threshold: Any = 20) -> Dual:
    still = x.primal()
    scaled = times(still, constant(x, beta))
    large = above(scaled, threshold)
    value = select(large, still, over(log(plus(one(x), exp(scaled))), constant(x, beta)))
    return chain_rule(x, value, lambda: select(large, one(x), sigmoid(scaled)))


@exact_rule("elu")
def _elu(op: Op, x: Dual, alpha: Any = 1.0) -> Dual:
    """`x`, and `alpha (exp(u) - 1)` where it is `u`, the negative part of x."""
    still = x.primal()
    c, scale = positive(still), constant(x, alpha)
    e = exp(times(still, below(still, 0)))
    value = plus(times(still, c), times(scale, minus(e, one(x))))
    return chain_rule(x, value, lambda: select(c, one(x), times(scale, e)))


# Piecewise linear ----------------------------------------------------------------------------------


@exact_rule("relu")
def _relu(op: Op, x: Dual) -> Dual:
    """What it leaves is positive where x is, and never negative."""
    c = positive(x)
    found = times(x, c)
    degree = found.degree.join(x.degree)
    x.point.define(">", found.value, c.value, degree)
    x.point.define(">", -found.value % x.point.prime, np.zeros_like(c.value), degree)
    return found


@exact_rule("leaky_relu")
def _leaky_relu(op: Op, x: Dual, slope: Any = 0.01) -> Dual:
    return times(x, select(positive(x), one(x), constant(x, slope)))


@exact_rule("threshold")
def _threshold(op: Op, x: Dual, threshold: Any, value: Any) -> Dual:
    return select(above(x, threshold), x, constant(x, value))


@exact_rule("hardtanh")
def _hardtanh(op: Op, x: Dual, low: Any = -1.0, high: Any = 1.0) -> Dual:
    return clamped(x, low, high)


def clamped(x: Dual, low: float, high: float) -> Dual:
    """x between two numbers, and the nearer of them elsewhere."""
    if not low <= high:
        raise Unsupported(f"what is kept between {low} and {high}")
    over_low, under_high = _between(x, low, high)
    at_bounds = select(over_low, times(negation(under_high), constant(x, high)), constant(x, low))
    return plus(times(x, times(over_low, under_high)), at_bounds)


def _between(x: Dual, low: Any, high: Any) -> tuple[Indicator, Indicator]:
    """`x >= low` and `x <= high`."""
    return negation(below(x, low)), negation(above(x, high))


@exact_rule("hardshrink", "softshrink")
def _shrink(op: Op, x: Dual, bound: Any = 0.5) -> Dual:
    over_low, under_high = _between(x, -bound, bound)
    kept = times(x, minus(one(x), times(over_low, under_high)))
    if op.name == "hardshrink":
        return kept
    moved = minus(negation(under_high), negation(over_low))
    return minus(kept, times(moved, constant(x, bound)))
