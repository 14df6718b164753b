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
from gradcheck.autograd.ops.reducing import axes
from gradcheck.errors import Unsupported
from gradcheck.oracles import modular
from gradcheck.oracles.degree import MADE_UP, Degree
from gradcheck.oracles.point import Point
from gradcheck.oracles.residue import Residue, acts_on, lift
from gradcheck.oracles.residue_ops import one, plus, reciprocal, summed, times

Function = Callable[[Residue], Residue]


def smooth(x: Residue, value: Residue, slope: Callable[[], Residue]) -> Residue:
    """A function's value at x, its tangent by the chain rule."""
    tangent = x.tangent
    if tangent is None:
        return value
    factor = slope()
    moved = factor.value * tangent % x.point.prime
    return Residue(x.point, value.value, moved, value.degree.chained(factor.degree, x.degree))


def unknown(name: str, x: Residue) -> Residue:
    """A made-up value for each of x, without tangent."""
    value = x.point.made_up(name, x.value, x.degree)
    return Residue(x.point, value, None, Degree(1, kind=x.degree.kind | MADE_UP))


def unknown_of_two(name: str, a: Residue, b: Residue) -> Residue:
    """The same for each pair of arguments."""
    return unknown(name, _pair(a.still(), b.still()))


def _pair(a: Residue, b: Residue) -> Residue:
    """A random combination of two: different pairs have different ones, but by chance."""
    weight = a.point.made_up("", np.ones(1, dtype=np.int64), Degree())[0]
    return plus(a, times(b, Residue(a.point, weight, None, Degree(1))))


def odd(name: str, x: Residue) -> Residue:
    """A made-up value for each of x, of which `f(-x) = -f(x)` is known."""
    size, turned = mirrored(x)
    value = np.where(size == 0, 0, x.point.made_up(name, size, x.degree))
    found = np.where(turned, -value % x.point.prime, value)
    return Residue(x.point, found, None, Degree(1, kind=x.degree.kind | MADE_UP))


def mirrored(x: Residue) -> tuple[np.ndarray, np.ndarray]:
    """Each argument or its negative, whichever is smaller, and whether it was turned round."""
    turned = x.value > x.point.prime // 2
    return np.where(turned, x.point.prime - x.value, x.value), turned


# Exponentials and logarithms --------------------------------------------------------------------


def exp(x: Residue) -> Residue:
    """`exp(-x)` is `1 / exp(x)`, and `exp(0)` is 1."""
    point = x.point
    size, turned = mirrored(x)
    grown = np.where(size == 0, 1, point.made_up("exp", size, x.degree))
    degree = Degree(1, kind=x.degree.kind | MADE_UP)
    if np.any(turned):
        degree = Degree(2, 1, kind=degree.kind)
        known = point.known("exp", x.value, np.zeros_like(grown)) if point.has_infinity else None
        divisor = grown if known is None else np.where(turned & (grown != 0), grown, 1)
        grown = np.where(turned, modular.inverse(np.where(turned, divisor, 1), point.prime), grown)
    value = point.known("exp", x.value, grown)
    found = Residue(point, value, None, degree)
    return smooth(x, found, lambda: found)


def log(x: Residue) -> Residue:
    """A made-up logarithm: its derivative is `1 / x`, its exponential is x."""
    value = unknown("log", x)
    x.point.know("exp", value.value, x.value, value.degree.beside(x.degree))
    return smooth(x, value, lambda: reciprocal(x.still()))


def number(x: Residue, value: float) -> Residue:
    return lift(x.point, value)


def sigmoid(x: Residue) -> Residue:
    e = exp(x.still())
    value = times(e, reciprocal(plus(one(x), e)))
    return smooth(x, value, lambda: times(value, plus(one(x), value, -1)))


def _tanh(x: Residue) -> Residue:
    square = _squared(exp(x.still()))
    value = times(plus(square, one(x), -1), reciprocal(plus(square, one(x))))
    return smooth(x, value, lambda: plus(one(x), _squared(value), -1))


def _squared(x: Residue) -> Residue:
    return times(x, x)


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
    return smooth(x, t, lambda: times(plus(one(x), _squared(t)), reciprocal(number(x, 2))))


def _sin(x: Residue) -> Residue:
    t = _half_angle(x)
    return times(plus(t, t), reciprocal(plus(one(x), _squared(t))))


def _cos(x: Residue) -> Residue:
    square = _squared(_half_angle(x))
    return times(plus(one(x), square, -1), reciprocal(plus(one(x), square)))


def _tan(x: Residue) -> Residue:
    t = _half_angle(x)
    return times(plus(t, t), reciprocal(plus(one(x), _squared(t), -1)))


def _sinc(x: Residue) -> Residue:
    angle = times(number(x, np.pi), x)
    return times(_sin(angle), reciprocal(angle))


def _inverse(name: str, slope: Function) -> Function:
    """A made-up inverse function, of which the slope is known."""
    return lambda x: smooth(x, odd(name, x), lambda: slope(x.still()))


def _beside_square(sign: int) -> Function:
    """`1 / sqrt(1 ± x^2)`."""
    return lambda x: reciprocal(root(plus(one(x), _squared(x), sign)))


def _acosh(x: Residue) -> Residue:
    still = x.still()
    return smooth(x, unknown("acosh", x), lambda: reciprocal(
        times(root(plus(still, one(x), -1)), root(plus(still, one(x))))))  # fmt: skip


@acts_on("atan2")
def _atan2(point: Point, op: Op, a: Any, b: Any) -> Residue:
    a, b = lift(point, a), lift(point, b)
    value, p, q = unknown_of_two("atan2", a, b), a.still(), b.still()
    scale = reciprocal(plus(_squared(p), _squared(q)))
    return smooth_in_two(a, b, value, lambda: times(q, scale), lambda: times(times(p, scale), number(a, -1)))


def smooth_in_two(
    a: Residue, b: Residue, value: Residue, by_a: Callable[[], Residue], by_b: Callable[[], Residue]
) -> Residue:
    """A value with the tangents of two arguments, which broadcast to it."""
    parts = [smooth(x, value, slope) for x, slope in ((a, by_a), (b, by_b)) if x.lazy_tangent is not None]
    if len(parts) < 2:
        found = parts[0] if parts else value
        tangent = found.tangent
        shape = value.shape
        if tangent is not None and tangent.shape != shape:
            tangent = np.broadcast_to(tangent, shape)
        return Residue(value.point, value.value, tangent, found.degree)
    left, right = (part.tangent for part in parts)
    moved = (left + right) % value.point.prime  # type: ignore[operator]
    sums = parts[0].degree.plus(parts[1].degree)
    degree = value.degree._replace(slope=sums.slope, cofactor=sums.cofactor + value.degree.bottom, kind=sums.kind)
    return Residue(value.point, value.value, moved, degree)


# The error function -------------------------------------------------------------------------------


def erf(x: Residue) -> Residue:
    """Odd, with the derivative `2 / sqrt(pi) * exp(-x^2)`."""
    still = x.still()
    return smooth(x, odd("erf", x), lambda: times(
        number(x, 2 / np.sqrt(np.pi)), exp(times(_squared(still), number(x, -1)))))  # fmt: skip


def _erfc(x: Residue) -> Residue:
    return plus(one(x), erf(x), -1)


@acts_on("gelu")
def _gelu(point: Point, op: Op, x: Residue, approximate: str = "none") -> Residue:
    """`x Phi(x)`, of derivative `Phi(x) + x phi(x)`; or by tanh as the forward writes it."""
    from gradcheck.autograd.ops.activation import _GELU_CUBE, _GELU_SLOPE

    half = number(x, 0.5)
    if approximate != "none":
        cubed = times(number(x, _GELU_CUBE), times(x, _squared(x)))
        t = _tanh(times(number(x, _GELU_SLOPE), plus(x, cubed)))
        return times(times(half, x), plus(one(x), t))
    still = x.still()
    share = times(half, _erfc(times(still, number(x, -np.sqrt(0.5)))))
    density = times(exp(times(_squared(still), number(x, -0.5))), number(x, 1 / np.sqrt(2 * np.pi)))
    return smooth(x, times(still, share), lambda: plus(share, times(still, density)))


# Roots and powers -----------------------------------------------------------------------------------


def root(x: Residue) -> Residue:
    """A made-up square root `y`, of derivative `1 / (2 y)`; wherever it is squared as such, that is x again."""
    y = unknown("sqrt", x)
    _know_square(y, x)
    return smooth(x, y, lambda: reciprocal(plus(y, y)))


def _know_square(y: Residue, x: Residue) -> None:
    if x.point.squares:
        x.point.know("square", y.value, x.value, y.degree.beside(x.degree))


def square(x: Residue) -> Residue:
    """`x ** 2`, where x is a root what it is the root of."""
    found = _squared(x)
    value = x.point.known("square", x.value, found.value)
    if value is found.value:
        return found
    tangent = found.tangent
    return Residue(x.point, value, tangent, found.degree.beside(Degree(1, kind=MADE_UP)))


@acts_on("square")
def _square(point: Point, op: Op, x: Residue) -> Residue:
    return square(x)


@acts_on("mul")
def _mul(point: Point, op: Op, a: Any, b: Any) -> Residue:
    return square(a) if a is b and point.squares else times(lift(point, a), lift(point, b))


def _rsqrt(x: Residue) -> Residue:
    """`1 / y`, of derivative `-1 / (2 y^3)`."""
    value = reciprocal(root(x.still()))
    _know_square(value, reciprocal(x.still()))
    return smooth(x, value, lambda: times(times(square(value), value), number(x, -0.5)))


@acts_on("std")
def _std(point: Point, op: Op, x: Residue, *settings: Any) -> Residue:
    return root(TABLE["var"](x, *settings[:3], correction=settings[3]))


@acts_on("hypot")
def _hypot(point: Point, op: Op, a: Any, b: Any) -> Residue:
    a, b = lift(point, a), lift(point, b)
    return root(plus(_squared(a), _squared(b)))


def integer_power(x: Residue, exponent: int) -> Residue:
    """`x ** exponent`, by repeated squaring."""
    if exponent == 0:
        return plus(one(x), times(x.still(), number(x, 0)))
    if exponent < 0:
        return reciprocal(integer_power(x, -exponent))
    found: Residue | None = None
    while True:
        if exponent & 1:
            found = x if found is None else times(found, x)
        exponent >>= 1
        if not exponent:
            assert found is not None
            return found
        x = square(x)


def _half_power(x: Residue, whole: int) -> Residue:
    """`x ** (whole + 1/2)`, with powers of x and the root as few as can be."""
    y = root(x.still())
    still = x.still()
    if whole >= 0:
        value = times(integer_power(still, whole), y)
    else:
        value = reciprocal(times(integer_power(still, -whole - 1), y))
    return smooth(x, value, lambda: times(number(x, whole + 0.5), _half_power(still, whole - 1)))


@acts_on("pow")
def _pow(point: Point, op: Op, base: Any, exponent: Any) -> Residue:
    """Integer powers are exact; `x ** 0.5` is the square root's; others are made up, but for their slopes."""
    if isinstance(exponent, (np.ndarray, np.generic)) and exponent.ndim == 0:
        exponent = exponent.item()
    if isinstance(exponent, (int, float)) and abs(exponent) <= 4096:
        base = lift(point, base)
        if exponent == int(exponent):
            return integer_power(base, int(exponent))
        if 2 * exponent == int(2 * exponent):
            return _half_power(base, int(np.floor(exponent)))
    if isinstance(base, (int, float)) and base <= 0:
        raise Unsupported(f"powers of {base}")
    if isinstance(exponent, np.ndarray) and exponent.dtype.kind in "iu" and np.all(abs(exponent) <= 64):
        return _integer_powers(lift(point, base), exponent)
    slope = np.log(base) if isinstance(base, (int, float)) else None
    return power(lift(point, base), lift(point, exponent), slope)


def _integer_powers(x: Residue, exponents: np.ndarray) -> Residue:
    """Each power once, chosen where it is asked for."""
    shape = np.broadcast_shapes(x.shape, exponents.shape)
    found: Residue = TABLE["expand"](lift(x.point, np.zeros(())), shape)
    for exponent in np.unique(exponents).tolist():
        found = TABLE["where"](exponents == exponent, integer_power(x, exponent), found)
    return found


def power(x: Residue, y: Residue, log_of_x: float | None = None) -> Residue:
    """`x ** y`, where `x ** (y - 1)` is known to be `x ** y / x`; its slopes follow."""
    p, q = x.still(), y.still()
    value = unknown_of_two("pow", p, q)
    ratio = times(value, reciprocal(p))
    below, degree = _pair(p, plus(q, one(x), -1)), value.degree.beside(ratio.degree)
    x.point.know("pow", below.value, np.broadcast_to(ratio.value, below.shape), degree.beside(below.degree))
    return smooth_in_two(
        x, y, value, lambda: times(q, ratio),
        lambda: times(value, log(p) if log_of_x is None else number(x, log_of_x)),
    )  # fmt: skip


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
    "atan": _inverse("atan", lambda x: reciprocal(plus(one(x), _squared(x)))),
    "asinh": _inverse("asinh", _beside_square(1)),
    "acosh": _acosh,
    "atanh": _inverse("atanh", lambda x: reciprocal(plus(one(x), _squared(x), -1))),
    "erf": erf,
    "erfc": _erfc,
    "sqrt": root,
    "rsqrt": _rsqrt,
}.items():
    acts_on(_name)(_alone(_function))
