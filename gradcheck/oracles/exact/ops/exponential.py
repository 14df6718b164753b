"""Exponentials, logarithms, sums of exponentials, and the error function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.autograd.ops.reducing import axes
from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.degree import UNINTERPRETED, Degree
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.ops.reduction import summed, without
from gradcheck.oracles.exact.rules import exact_rule
from gradcheck.oracles.exact.uninterpreted import chain_rule, odd, uninterpreted, up_to_sign


@exact_rule("exp")
def exp(x: Dual) -> Dual:
    """`exp(-x)` is `1 / exp(x)`, and `exp(0)` is 1."""
    point = x.point
    size, flipped = up_to_sign(x)
    value = np.where(size == 0, 1, point.value("exp", size, x.degree))
    degree = Degree(1, kinds=x.degree.kinds | UNINTERPRETED)
    if np.any(flipped):
        degree = Degree(2, 1, kinds=degree.kinds)
        divisors = np.where(flipped, value, 1)
        if point.has_infinity:  # of which the exponential is 0
            divisors = np.where(divisors == 0, 1, divisors)
        value = np.where(flipped, modular.inverse(divisors, point.prime), value)
    found = Dual(point, point.defined("exp", x.value, value), None, degree)
    return chain_rule(x, found, lambda: found)


def has_exponential(x: Dual, y: Dual) -> None:
    """Note that `exp(x)` is y."""
    x.point.define("exp", x.value, y.value, x.degree.join(y.degree))


@exact_rule("log")
def log(x: Dual) -> Dual:
    """Its derivative is `1 / x`, its exponential is x."""
    value = uninterpreted("log", x)
    has_exponential(value, x)
    return chain_rule(x, value, lambda: x.primal().reciprocal())


@exact_rule("logaddexp", operands=(0, 1))
def _logaddexp(a: Dual, b: Dual) -> Dual:
    ratio = (exp(b) / exp(a)).primal()
    has_exponential((b - a).primal(), ratio)
    has_exponential((a - b).primal(), ratio.reciprocal())
    return log(exp(a) + exp(b))


@exact_rule("logsumexp")
def _logsumexp(x: Dual, dim: Any, keepdim: bool = False) -> Dual:
    """Its difference to x has a known exponential: the softmax."""
    e = exp(x)
    total = summed(e, dim, True)
    found = log(total)
    has_exponential(x.primal() - found.primal(), e.primal() / total.primal())
    return found if keepdim else without(found, axes(dim, x.ndim))


@exact_rule("softmax")
def _softmax(x: Dual, dim: int, dtype: Any = None) -> Dual:
    e = exp(x)
    return e / summed(e, dim, True)


@exact_rule("erf")
def erf(x: Dual) -> Dual:
    """Odd, with the derivative `2 / sqrt(pi) * exp(-x^2)`."""
    still = x.primal()
    return chain_rule(x, odd("erf", x), lambda: 2 / math.sqrt(math.pi) * exp(-(still * still)))


exact_rule("expm1")(lambda x: exp(x) - 1)
exact_rule("exp2")(lambda x: TABLE["pow"](2, x))
exact_rule("log1p")(lambda x: log(1 + x))
exact_rule("log2")(lambda x: log(x) / math.log(2))
exact_rule("log10")(lambda x: log(x) / math.log(10))
exact_rule("xlogy", operands=(0, 1))(lambda x, y: x * log(y))
exact_rule("log_softmax")(lambda x, dim, dtype: x - _logsumexp(x, dim if x.ndim else (), True))
exact_rule("erfc")(lambda x: 1 - erf(x))
