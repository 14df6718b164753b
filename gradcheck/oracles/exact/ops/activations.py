"""Activations: smooth ones by exponentials, others by choices; softmax."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcheck.autograd.ops.common.dims import reduced_axes
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact.dual_numbers import Dual, exact_rule, lift
from gradcheck.oracles.exact.ops.elementwise import branch_indicator, select
from gradcheck.oracles.exact.ops.reductions import drop_dims, sum_axes
from gradcheck.oracles.exact.ops.smooth_functions import define_exponential, erf, exp, log, tanh
from gradcheck.oracles.exact.uninterpreted_functions import chain_rule


@exact_rule("sigmoid")
def sigmoid(x: Dual) -> Dual:
    """Return `e / (1 + e)`, with the derivative `s (1 - s)`."""
    e = exp(x.primal())
    s = e / (1 + e)
    return chain_rule(x, s, lambda: s * (1 - s))


@exact_rule("logsigmoid")
def _logsigmoid(x: Dual) -> Dual:
    """Return `-log(1 + exp(-x))`, whose exponential is the sigmoid."""
    s = sigmoid(x.primal())
    value = -log(1 / s)
    define_exponential(value, s)
    return chain_rule(x, value, lambda: 1 - s)


@exact_rule("gelu")
def _gelu(x: Dual, approximate: str = "none") -> Dual:
    """Return `x Phi(x)`; or its tanh form (Hendrycks and Gimpel, 2016)."""
    if approximate != "none":
        return 0.5 * x * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * (x * x)))))
    still = x.primal()
    share = 0.5 * (1 - erf(still * -math.sqrt(0.5)))
    density = exp(still * still * -0.5) * (1 / math.sqrt(2 * math.pi))
    return chain_rule(x, still * share, lambda: share + still * density)


@exact_rule("softplus")
def _softplus(x: Dual, beta: Any = 1, threshold: Any = 20) -> Dual:
    still = x.primal()
    scaled = still * beta
    if threshold == math.inf:
        return chain_rule(x, log(1 + exp(scaled)) / beta, lambda: sigmoid(scaled))
    large = scaled > threshold
    value = select(large, still, log(1 + exp(scaled)) / beta)
    return chain_rule(x, value, lambda: select(large, lift(x.point, 1), sigmoid(scaled)))


@exact_rule("elu")
def _elu(x: Dual, alpha: Any = 1.0) -> Dual:
    """Return `x`, or `alpha (exp(u) - 1)` for the negative part u of x."""
    still, scale = x.primal(), lift(x.point, alpha)
    c = branch_indicator(still)
    e = exp(still * branch_indicator(-still))
    return chain_rule(x, still * c + scale * (e - 1), lambda: select(c, lift(x.point, 1), scale * e))


exact_rule("silu")(lambda x: x * sigmoid(x))


@exact_rule("relu")
def _relu(x: Dual) -> Dual:
    """Return the positive part, and record that it is never negative."""
    c = branch_indicator(x.primal())
    found = x * c
    degree = found.degree.join(x.degree)
    x.point.define(">", found.value, c.value, degree)
    x.point.define(">", -found.value % x.point.prime, np.zeros_like(c.value), degree)
    return found


@exact_rule("hardtanh")
def clamped(x: Dual, low: float, high: float) -> Any:
    """Return x between two numbers, and the nearer bound elsewhere."""
    if not low <= high:
        raise Unsupported(f"what is kept between {low} and {high}")
    still = x.primal()
    over_low, under_high = (
        branch_indicator(still.add_formally(lift(x.point, low), -1), 1),
        branch_indicator(lift(x.point, high).add_formally(still, -1), 1),
    )
    return x * (over_low * under_high) + select(over_low, (1 - under_high) * high, lift(x.point, low))


@exact_rule("hardshrink")
def _hardshrink(x: Dual, bound: Any) -> Any:
    return x * (1 - (x >= -bound) * (x <= bound))


@exact_rule("softshrink")
def _softshrink(x: Dual, bound: Any) -> Any:
    still = x.primal()
    over_low, under_high = branch_indicator(still + bound), branch_indicator(bound - still)
    return x * (1 - over_low * under_high) - (over_low - under_high) * bound


exact_rule("leaky_relu")(
    lambda x, slope: x * select(branch_indicator(x.primal()), lift(x.point, 1), lift(x.point, slope))
)
exact_rule("threshold")(lambda x, threshold, value: select(x > threshold, x, lift(x.point, value)))


@exact_rule("logsumexp")
def _logsumexp(x: Dual, dim: Any, keepdim: bool = False) -> Dual:
    """Return the logarithm; x less it has the softmax as exponential."""
    e = exp(x)
    total = sum_axes(e, dim, True)
    found = log(total)
    define_exponential(x.primal() - found.primal(), e.primal() / total.primal())
    return found if keepdim else drop_dims(found, reduced_axes(dim, x.ndim))


@exact_rule("softmax")
def _softmax(x: Dual, dim: int, dtype: Any = None) -> Dual:
    e = exp(x)
    return e / sum_axes(e, dim, True)


exact_rule("log_softmax")(lambda x, dim, dtype: x - _logsumexp(x, dim if x.ndim else (), True))
