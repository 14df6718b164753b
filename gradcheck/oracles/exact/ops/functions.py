"""Functions outside the field: their values at a random point are made up, the same for the same argument.

What is known of a function is kept: `tanh` is a fraction of the same made-up exponential that `exp` and `sigmoid` use,
and its derivative follows from it. An identity that holds for made-up values holds for the true ones; one that does
not may still hold, since the function may satisfy relations that were not kept. (Such claims go to another oracle.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE, Op
from gradcheck.autograd.ops.common.dims import axes
from gradcheck.oracles.exact.dual import Residue, acts_on, lift
from gradcheck.oracles.exact.ops.arithmetic import one, plus, reciprocal, summed, times
from gradcheck.oracles.exact.ops.powers import power, root
from gradcheck.oracles.exact.point import Point
from gradcheck.oracles.exact.uninterpreted import (
    exp,
    log,
    number,
    odd,
    smooth,
    smooth_in_two,
    squared,
    unknown,
    unknown_of_two,
)

Function = Callable[[Residue], Residue]


# Exponentials and logarithms --------------------------------------------------------------------


def sigmoid(x: Residue) -> Residue:
    e = exp(x.still())
    value = times(e, reciprocal(plus(one(x), e)))
    return smooth(x, value, lambda: times(value, plus(one(x), value, -1)))


def _tanh(x: Residue) -> Residue:
    square = squared(exp(x.still()))
    value = times(plus(square, one(x), -1), reciprocal(plus(square, one(x))))
    return smooth(x, value, lambda: plus(one(x), squared(value), -1))


def _hyperbolic(sign: int) -> Function:
    return lambda x: times(plus(exp(x), reciprocal(exp(x)), sign), reciprocal(number(x, 2)))


def _to_base(base: float) -> Function:
    return lambda x: times(log(x), reciprocal(number(x, np.log(base))))


def _logsigmoid(x: Residue) -> Residue:
    """`-log(1 + exp(-x))`, whose exponential is the sigmoid."""
    s = sigmoid(x.still())
    value = times(log(reciprocal(s)), number(x, -1))
    x.point.know("exp", value.value, s.value, value.degree.beside(s.degree))
    return smooth(x, value, lambda: plus(one(x), s, -1))


@acts_on("logaddexp")
def _logaddexp(point: Point, op: Op, a: Any, b: Any) -> Residue:
    a, b = lift(point, a), lift(point, b)
    difference, ratio = plus(b, a, -1).still(), times(exp(b), reciprocal(exp(a))).still()
    point.know("exp", difference.value, ratio.value, difference.degree.beside(ratio.degree))
    point.know("exp", -difference.value % point.prime, reciprocal(ratio).value, difference.degree.beside(ratio.degree))
    return log(plus(exp(a), exp(b)))


@acts_on("xlogy")
def _xlogy(point: Point, op: Op, x: Any, z: Any) -> Residue:
    return times(lift(point, x), log(lift(point, z)))


# Angles -------------------------------------------------------------------------------------------


def _half_angle(x: Residue) -> Residue:
    """The tangent of half the angle: odd, with the derivative `(1 + t^2) / 2`."""
    t = odd("tan(x / 2)", x)
    return smooth(x, t, lambda: times(plus(one(x), squared(t)), reciprocal(number(x, 2))))


def _sin(x: Residue) -> Residue:
    t = _half_angle(x)
    return times(plus(t, t), reciprocal(plus(one(x), squared(t))))


def _cos(x: Residue) -> Residue:
    square = squared(_half_angle(x))
    return times(plus(one(x), square, -1), reciprocal(plus(one(x), square)))


def _tan(x: Residue) -> Residue:
    t = _half_angle(x)
    return times(plus(t, t), reciprocal(plus(one(x), squared(t), -1)))


def _sinc(x: Residue) -> Residue:
    angle = times(number(x, np.pi), x)
    return times(_sin(angle), reciprocal(angle))


def _inverse(name: str, slope: Function) -> Function:
    """A made-up inverse function, of which the slope is known."""
    return lambda x: smooth(x, odd(name, x), lambda: slope(x.still()))


def _beside_square(sign: int) -> Function:
    """`1 / sqrt(1 ± x^2)`."""
    return lambda x: reciprocal(root(plus(one(x), squared(x), sign)))


def _acosh(x: Residue) -> Residue:
    still = x.still()
    return smooth(x, unknown("acosh", x), lambda: reciprocal(
        times(root(plus(still, one(x), -1)), root(plus(still, one(x))))))  # fmt: skip


@acts_on("atan2")
def _atan2(point: Point, op: Op, a: Any, b: Any) -> Residue:
    a, b = lift(point, a), lift(point, b)
    value, p, q = unknown_of_two("atan2", a, b), a.still(), b.still()
    scale = reciprocal(plus(squared(p), squared(q)))
    return smooth_in_two(a, b, value, lambda: times(q, scale), lambda: times(times(p, scale), number(a, -1)))


# The error function -------------------------------------------------------------------------------


def erf(x: Residue) -> Residue:
    """Odd, with the derivative `2 / sqrt(pi) * exp(-x^2)`."""
    still = x.still()
    return smooth(x, odd("erf", x), lambda: times(
        number(x, 2 / np.sqrt(np.pi)), exp(times(squared(still), number(x, -1)))))  # fmt: skip


def _erfc(x: Residue) -> Residue:
    return plus(one(x), erf(x), -1)


@acts_on("gelu")
def _gelu(point: Point, op: Op, x: Residue, approximate: str = "none") -> Residue:
    """`x Phi(x)`, of derivative `Phi(x) + x phi(x)`; or by tanh as the forward writes it."""
    from gradcheck.autograd.ops.activations import GELU_CUBE, GELU_SLOPE

    half = number(x, 0.5)
    if approximate != "none":
        cubed = times(number(x, GELU_CUBE), times(x, squared(x)))
        t = _tanh(times(number(x, GELU_SLOPE), plus(x, cubed)))
        return times(times(half, x), plus(one(x), t))
    still = x.still()
    share = times(half, _erfc(times(still, number(x, -np.sqrt(0.5)))))
    density = times(exp(times(squared(still), number(x, -0.5))), number(x, 1 / np.sqrt(2 * np.pi)))
    return smooth(x, times(still, share), lambda: plus(share, times(still, density)))


# Sums of exponentials -----------------------------------------------------------------------------------


@acts_on("softmax")
def _softmax(point: Point, op: Op, x: Residue, dim: int, dtype: Any = None) -> Residue:
    e = exp(x)
    return times(e, reciprocal(summed(e, dim, True)))


@acts_on("logsumexp")
def _logsumexp(point: Point, op: Op, x: Residue, dim: Any, keepdim: bool = False) -> Residue:
    """Its difference to x has a known exponential: the softmax."""
    e = exp(x)
    total = summed(e, dim, True)
    found = log(total)
    shifted = plus(x.still(), found.still(), -1)
    share = times(e.still(), reciprocal(total.still()))
    point.know("exp", shifted.value, share.value, shifted.degree.beside(share.degree))
    return found if keepdim else TABLE["reshape"](found, _without(x.shape, dim))


def _without(shape: tuple[int, ...], dim: Any) -> tuple[int, ...]:
    """The shape that a sum over these dimensions leaves."""
    run = axes(dim, len(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in run)


@acts_on("log_softmax")
def _log_softmax(point: Point, op: Op, x: Residue, dim: int, dtype: Any = None) -> Residue:
    return plus(x, _logsumexp(point, op, x, dim if x.ndim else (), True), -1)


def _alone(function: Function) -> Callable[..., Residue]:
    return lambda point, op, x, *settings: function(lift(point, x))


for _name, _function in {
    "exp": exp,
    "log": log,
    "log2": _to_base(2.0),
    "log10": _to_base(10.0),
    "exp2": lambda x: power(number(x, 2), x, float(np.log(2))),
    "log1p": lambda x: log(plus(one(x), x)),
    "expm1": lambda x: plus(exp(x), one(x), -1),
    "sigmoid": sigmoid,
    "silu": lambda x: times(x, sigmoid(x)),
    "logsigmoid": _logsigmoid,
    "tanh": _tanh,
    "sinh": _hyperbolic(-1),
    "cosh": _hyperbolic(1),
    "sin": _sin,
    "cos": _cos,
    "tan": _tan,
    "sinc": _sinc,
    "asin": _inverse("asin", _beside_square(-1)),
    "acos": lambda x: smooth(x, unknown("acos", x), lambda: times(_beside_square(-1)(x.still()), number(x, -1))),
    "atan": _inverse("atan", lambda x: reciprocal(plus(one(x), squared(x)))),
    "asinh": _inverse("asinh", _beside_square(1)),
    "acosh": _acosh,
    "atanh": _inverse("atanh", lambda x: reciprocal(plus(one(x), squared(x), -1))),
    "erf": erf,
    "erfc": _erfc,
}.items():
    acts_on(_name)(_alone(_function))
