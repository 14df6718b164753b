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
from gradcheck.errors import Unsupported
from gradcheck.oracles import modular
from gradcheck.oracles.residue import Degree, Point, Residue, acts_on, lift
from gradcheck.oracles.residue_ops import integer_power, plus, reciprocal, times


def made_up(point: Point, name: str, values: np.ndarray) -> np.ndarray:
    """A value from 1 to p - 1 for every argument, fixed by the point, the function and the argument."""
    point.invented.add(name)
    mixed = values.astype(np.uint64) ^ np.uint64(_seed(point, name))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 0x9E3779B97F4A7C15)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)  # splitmix64's finalizer (Steele et al. 2014)
    return (mixed % np.uint64(point.prime - 1)).astype(np.int64) + 1


def _seed(point: Point, name: str) -> int:
    seed = point.salt
    for byte in name.encode():
        seed = (seed * 0x100000001B3 + byte) % (1 << 63)
    return seed


def _chain(x: Residue, value: np.ndarray, slope: Callable[[], np.ndarray]) -> Residue:
    """The made-up `value` of a function of `x`, its tangent by the chain rule. The value is random: of degree 1."""
    tangent = None if x.tangent is None else slope() * x.tangent % x.point.prime
    return Residue(x.point, value, tangent, Degree(max(1, x.degree.top), x.degree.bottom))


def _mirrored(x: Residue) -> tuple[np.ndarray, np.ndarray]:
    """Each argument or its negative, whichever is smaller, and whether it was turned round."""
    turned = x.value > x.point.prime // 2
    return np.where(turned, x.point.prime - x.value, x.value), turned


@acts_on("exp")
def _exp(point: Point, op: Op, x: Any) -> Residue:
    """`exp(-x)` is `1 / exp(x)`, and `exp(0)` is 1."""
    size, turned = _mirrored(lift(point, x))
    grown = np.where(size == 0, 1, made_up(point, "exp", size))
    value = np.where(turned, modular.inverse(grown, point.prime), grown)
    return _chain(x, value, lambda: value)


def _with_exp(formula: Callable[[Residue], Residue]) -> Callable[..., Residue]:
    def action(point: Point, op: Op, x: Residue, *settings: Any) -> Residue:
        if any(setting not in (None, 1, 1.0, 20, 20.0) for setting in settings):
            raise Unsupported(f"{op.name} with settings of its own")
        return formula(x)

    return action


def exp(x: Residue) -> Residue:
    return _exp(x.point, TABLE["exp"], x)


def log(x: Residue) -> Residue:
    """A made-up logarithm: its derivative is `1 / x`."""
    value = made_up(x.point, "log", x.value)
    return _chain(Residue(x.point, x.value, x.tangent, x.degree.inverted()), value, lambda: reciprocal(x).value)


def _one(x: Residue) -> Residue:
    return lift(x.point, 1)


def sigmoid(x: Residue) -> Residue:
    e = exp(x)
    return times(e, reciprocal(plus(_one(x), e)))


def _tanh(x: Residue) -> Residue:
    e = exp(x)
    square = times(e, e)
    return times(plus(square, _one(x), -1), reciprocal(plus(square, _one(x))))


def _hyperbolic(sign: int) -> Callable[[Residue], Residue]:
    return lambda x: times(plus(exp(x), reciprocal(exp(x)), sign), reciprocal(lift(x.point, 2)))


def _half_angle(x: Residue) -> Residue:
    """The tangent of half the angle: odd, with the derivative `(1 + t^2) / 2`."""
    size, turned = _mirrored(x)
    t = np.where(size == 0, 0, made_up(x.point, "tan(x / 2)", size))
    t = np.where(turned, (-t) % x.point.prime, t)
    half = pow(2, -1, x.point.prime)
    return _chain(x, t, lambda: (1 + t * t % x.point.prime) * half % x.point.prime)


def _sin(x: Residue) -> Residue:
    t = _half_angle(x)
    return times(plus(t, t), reciprocal(plus(_one(x), times(t, t))))


def _cos(x: Residue) -> Residue:
    square = times(_half_angle(x), _half_angle(x))
    return times(plus(_one(x), square, -1), reciprocal(plus(_one(x), square)))


for _name, _formula in {
    "log": log,
    "log1p": lambda x: log(plus(_one(x), x)),
    "expm1": lambda x: plus(exp(x), _one(x), -1),
    "sigmoid": sigmoid,
    "silu": lambda x: times(x, sigmoid(x)),
    "softplus": lambda x: log(plus(_one(x), exp(x))),
    "tanh": _tanh,
    "sinh": _hyperbolic(-1),
    "cosh": _hyperbolic(1),
    "sin": _sin,
    "cos": _cos,
    "tan": lambda x: times(_sin(x), reciprocal(_cos(x))),
}.items():
    acts_on(_name)(_with_exp(_formula))


def root(x: Residue) -> Residue:
    """A made-up square root `y`, of derivative `1 / (2 y)`."""
    y = Residue(x.point, made_up(x.point, "sqrt", x.value), None, x.degree)
    return _chain(x, y.value, lambda: reciprocal(plus(y, y)).value)


@acts_on("sqrt")
def _sqrt(point: Point, op: Op, x: Residue) -> Residue:
    return root(x)


@acts_on("rsqrt")
def _rsqrt(point: Point, op: Op, x: Residue) -> Residue:
    return reciprocal(root(x))


@acts_on("std")
def _std(point: Point, op: Op, x: Residue, *settings: Any) -> Residue:
    return root(TABLE["var"](x, *settings[:2], keepdim=settings[2], correction=settings[3]))


@acts_on("pow")
def _pow(point: Point, op: Op, base: Any, exponent: Any) -> Residue:
    """Integer powers are exact; `x ** 0.5` is the square root's."""
    if isinstance(exponent, (np.ndarray, np.generic)) and exponent.ndim == 0:
        exponent = exponent.item()
    if not isinstance(exponent, (int, float)) or not isinstance(base, Residue):
        raise Unsupported("a power whose exponent is a tensor")
    if exponent == int(exponent) and abs(exponent) <= 64:
        return integer_power(base, int(exponent))
    if 2 * exponent == int(2 * exponent) and abs(exponent) <= 32:
        return times(integer_power(base, int(exponent - 0.5)), root(base))
    raise Unsupported(f"the power {exponent}")


@acts_on("softmax")
def _softmax(point: Point, op: Op, x: Residue, dim: int, dtype: Any = None) -> Residue:
    e = exp(x)
    return times(e, reciprocal(TABLE["sum"](e, dim, True)))


@acts_on("logsumexp")
def _logsumexp(point: Point, op: Op, x: Residue, dim: Any, keepdim: bool = False) -> Residue:
    return log(TABLE["sum"](exp(x), dim, keepdim))


@acts_on("log_softmax")
def _log_softmax(point: Point, op: Op, x: Residue, dim: int, dtype: Any = None) -> Residue:
    return plus(x, _logsumexp(point, op, x, dim, True), -1)


# Piecewise functions: which piece an element lies on is made up, the same for the same argument ---


def positive(x: Residue) -> np.ndarray:
    """Whether each element is positive; its negative is not."""
    size, turned = _mirrored(x)
    return np.asarray((made_up(x.point, "sign", size) % 2 == 1) != turned)


def _compared(flip: bool, negate: bool) -> Callable[..., np.ndarray]:
    def action(point: Point, op: Op, a: Any, b: Any) -> np.ndarray:
        difference = plus(lift(point, b), lift(point, a), -1) if flip else plus(lift(point, a), lift(point, b), -1)
        return np.asarray(positive(difference) != negate)

    return action


acts_on("gt")(_compared(flip=False, negate=False))
acts_on("lt")(_compared(flip=True, negate=False))
acts_on("ge")(_compared(flip=True, negate=True))
acts_on("le")(_compared(flip=False, negate=True))


@acts_on("sign", "sgn")
def _sign(point: Point, op: Op, x: Residue) -> np.ndarray:
    return np.where(positive(x), 1, -1)


@acts_on("abs")
def _abs(point: Point, op: Op, x: Residue) -> Residue:
    return times(x, lift(point, np.where(positive(x), 1, -1)))


@acts_on("relu")
def _relu(point: Point, op: Op, x: Residue) -> Residue:
    return times(x, lift(point, positive(x).astype(np.int64)))


@acts_on("leaky_relu")
def _leaky_relu(point: Point, op: Op, x: Residue, slope: Any = 0.01) -> Residue:
    steep = lift(point, positive(x).astype(np.int64))
    return times(x, plus(steep, times(lift(point, slope), plus(_one(x), steep, -1))))


@acts_on("maximum", "minimum")
def _extreme(point: Point, op: Op, a: Any, b: Any) -> Residue:
    a, b = lift(point, a), lift(point, b)
    first = positive(plus(a, b, -1) if op.name == "maximum" else plus(b, a, -1))
    chosen: Residue = TABLE["where"](first, a, b)
    return chosen
