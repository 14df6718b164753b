"""Exponentials, logarithms, sums of exponentials, and the error function."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.autograd.ops.reducing import axes
from gradcheck.oracles.exact.algebra import (
    constant,
    minus,
    one,
    over,
    plus,
    reciprocal,
    squared,
    summed,
    times,
    without,
)
from gradcheck.oracles.exact.dual import Dual, exact_rule
from gradcheck.oracles.exact.ops.power import power
from gradcheck.oracles.exact.uninterpreted import chain_rule, exp, has_exponential, log, odd


@exact_rule("exp")
def _exp(op: Op, x: Dual) -> Dual:
    return exp(x)


@exact_rule("expm1")
def _expm1(op: Op, x: Dual) -> Dual:
    return minus(exp(x), one(x))


@exact_rule("exp2")
def _exp2(op: Op, x: Dual) -> Dual:
    return power(constant(x, 2), x, float(np.log(2)))


@exact_rule("log")
def _log(op: Op, x: Dual) -> Dual:
    return log(x)


@exact_rule("log1p")
def _log1p(op: Op, x: Dual) -> Dual:
    return log(plus(one(x), x))


@exact_rule("log2", "log10")
def _log_to_base(op: Op, x: Dual) -> Dual:
    return over(log(x), constant(x, np.log(2.0 if op.name == "log2" else 10.0)))


@exact_rule("logaddexp", operands=(0, 1))
def _logaddexp(op: Op, a: Dual, b: Dual) -> Dual:
    difference, ratio = minus(b, a).primal(), over(exp(b), exp(a)).primal()
    has_exponential(difference, ratio)
    has_exponential(minus(a, b).primal(), reciprocal(ratio))
    return log(plus(exp(a), exp(b)))


@exact_rule("xlogy", operands=(0, 1))
def _xlogy(op: Op, x: Dual, y: Dual) -> Dual:
    return times(x, log(y))


@exact_rule("logsumexp")
def _logsumexp(op: Op, x: Dual, dim: Any, keepdim: bool = False) -> Dual:
    """Its difference to x has a known exponential: the softmax."""
    e = exp(x)
    total = summed(e, dim, True)
    found = log(total)
    has_exponential(minus(x.primal(), found.primal()), over(e.primal(), total.primal()))
    return found if keepdim else without(found, axes(dim, x.ndim))


@exact_rule("softmax")
def _softmax(op: Op, x: Dual, dim: int, dtype: Any = None) -> Dual:
    e = exp(x)
    return over(e, summed(e, dim, True))


@exact_rule("log_softmax")
def _log_softmax(op: Op, x: Dual, dim: int, dtype: Any = None) -> Dual:
    return minus(x, _logsumexp(op, x, dim if x.ndim else (), True))


# The error function --------------------------------------------------------------------------------


def erf(x: Dual) -> Dual:
    """Odd, with the derivative `2 / sqrt(pi) * exp(-x^2)`."""

    def slope() -> Dual:
        return times(constant(x, 2 / np.sqrt(np.pi)), exp(times(squared(x.primal()), constant(x, -1))))

    return chain_rule(x, odd("erf", x), slope)


@exact_rule("erf")
def _erf(op: Op, x: Dual) -> Dual:
    return erf(x)


@exact_rule("erfc")
def _erfc(op: Op, x: Dual) -> Dual:
    return minus(one(x), erf(x))
