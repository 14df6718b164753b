"""Smooth functions: exponentials, logarithms, roots, powers, angles, erf.

Integer powers are exact. Other functions keep known identities: angles and hyperbolic functions are fractions of the
tangent of half the angle, and of the exponential.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact import modular_arithmetic
from gradcheck.oracles.exact.degree import UNINTERPRETED, Degree
from gradcheck.oracles.exact.dual_numbers import Dual, exact_rule, lift
from gradcheck.oracles.exact.graph_regions import Domain
from gradcheck.oracles.exact.uninterpreted_functions import (
    chain_rule,
    chain_rule_of_two,
    combine_arguments,
    function_of_two,
    odd_function,
    uninterpreted,
    up_to_sign,
    with_domain,
)

#: The largest exponent that is not left uninterpreted.
_LARGEST_EXPONENT = 4096


@exact_rule("exp")
def exp(x: Dual) -> Dual:
    """Return the exponential; `exp(-x)` is `1 / exp(x)`, and `exp(0)` is 1."""
    point = x.point
    size, flipped = up_to_sign(x)
    value = np.where(size == 0, 1, point.value("exp", size, x.degree))
    degree = Degree(1, kinds=x.degree.kinds | UNINTERPRETED)
    if np.any(flipped):
        degree = Degree(2, 1, kinds=degree.kinds)
        divisors = np.where(flipped, value, 1)
        if point.has_infinity:  # whose exponential is 0
            divisors = np.where(divisors == 0, 1, divisors)
        value = np.where(flipped, modular_arithmetic.inverse(divisors, point.prime), value)
    found = Dual(point, point.defined_values("exp", x.value, value), None, degree)
    return chain_rule(x, found, lambda: found)


def define_exponential(x: Dual, y: Dual) -> None:
    """Record that `exp(x)` is y."""
    x.point.define("exp", x.value, y.value, x.degree.join(y.degree))


@exact_rule("log")
def log(x: Dual) -> Dual:
    """Return the logarithm, with the derivative `1 / x` and exponential x."""
    value = with_domain("positive", x, uninterpreted("log", x))
    define_exponential(value, x)
    return chain_rule(x, value, lambda: x.primal().reciprocal())


@exact_rule("logaddexp", operands=(0, 1))
def _logaddexp(a: Dual, b: Dual) -> Dual:
    ratio = (exp(b) / exp(a)).primal()
    define_exponential((b - a).primal(), ratio)
    define_exponential((a - b).primal(), ratio.reciprocal())
    return log(exp(a) + exp(b))


exact_rule("expm1")(lambda x: exp(x) - 1)
exact_rule("log1p")(lambda x: log(1 + x))
exact_rule("log2")(lambda x: log(x) / math.log(2))
exact_rule("log10")(lambda x: log(x) / math.log(10))


# Roots and powers ----------------------------------------------------------------------------------


@exact_rule("sqrt")
def root(x: Dual) -> Dual:
    """Return a root `y`, with the derivative `1 / (2 y)` and the square x."""
    y = with_domain("nonnegative", x, uninterpreted("sqrt", x))
    if x.point.regions.phase == "graph":
        y.point.domain_kinds("nonzero", y.value, y.degree)
    _define_square(y, x)
    return chain_rule(x, y, lambda: 1 / (y + y))


def _define_square(y: Dual, x: Dual) -> None:
    if x.point.keeps_squares:
        x.point.define("square", y.value, x.value, y.degree.join(x.degree))


@exact_rule("rsqrt")
def _rsqrt(x: Dual) -> Dual:
    """Return `1 / y`, with the derivative `-1 / (2 y^3)`."""
    still = x.primal()
    value = 1 / root(still)
    _define_square(value, 1 / still)
    return chain_rule(x, value, lambda: value * value * value * -0.5)


@exact_rule("pow", operands=())
def _pow(base: Any, exponent: Any) -> Dual:
    """Return a power: exact for integers, by the root for halves."""
    if isinstance(exponent, (np.ndarray, np.generic)) and exponent.ndim == 0:
        exponent = exponent.item()
    point = base.point if isinstance(base, Dual) else exponent.point
    if isinstance(exponent, (int, float)) and abs(exponent) <= _LARGEST_EXPONENT:
        if exponent == int(exponent):
            return integer_power(base, int(exponent))
        if 2 * exponent == int(2 * exponent):
            return _half_power(base, int(np.floor(exponent)))
    if isinstance(base, (int, float)) and base <= 0:
        raise Unsupported(f"powers of {base}")
    if isinstance(exponent, np.ndarray) and exponent.dtype.kind in "iu" and np.all(abs(exponent) <= 64):
        return _integer_powers(base, exponent)
    log_of_base = np.log(base) if isinstance(base, (int, float)) else None
    return power(lift(point, base), lift(point, exponent), log_of_base)


def integer_power(x: Dual, exponent: int) -> Dual:
    """Return `x ** exponent`, by repeated squaring."""
    if exponent == 0:
        return 1 + x.primal() * 0
    if exponent < 0:
        return 1 / integer_power(x, -exponent)
    found: Dual | None = None
    while True:
        if exponent & 1:
            found = x if found is None else found * x
        exponent >>= 1
        if not exponent:
            assert found is not None
            return found
        x = x * x


def _half_power(x: Dual, whole: int) -> Dual:
    """Return `x ** (whole + 1/2)`, with few powers of x and of the root."""
    still = x.primal()
    y = root(still)
    value = integer_power(still, whole) * y if whole >= 0 else 1 / (integer_power(still, -whole - 1) * y)
    return chain_rule(x, value, lambda: (whole + 0.5) * _half_power(still, whole - 1))


def _integer_powers(x: Dual, exponents: np.ndarray) -> Dual:
    """Return `x ** exponents`, each distinct power computed once."""
    found: Dual = lift(x.point, np.zeros(np.broadcast_shapes(x.shape, exponents.shape)))
    for exponent in np.unique(exponents).tolist():
        found = TABLE["where"](exponents == exponent, integer_power(x, exponent), found)
    return found


def power(x: Dual, y: Dual, log_of_x: float | None = None) -> Dual:
    """Return `x ** y`, with `x ** (y - 1)` defined as `x ** y / x`."""
    p, q = x.primal(), y.primal()
    value = with_domain("positive", p, function_of_two("pow", p, q))
    ratio, below = value / p, combine_arguments(p, q - 1)
    x.point.define("pow", below.value, ratio.value, value.degree.join(ratio.degree).join(below.degree))
    return chain_rule_of_two(
        value, (x, lambda: q * ratio), (y, lambda: value * (log(p) if log_of_x is None else log_of_x))
    )


exact_rule("square")(lambda x: x * x)
exact_rule("exp2")(lambda x: _pow(2, x))


# Angles and hyperbolic functions -----------------------------------------------------------------


def _half_angle(x: Dual) -> Dual:
    """Return tan(x / 2): odd, with the derivative `(1 + t^2) / 2`."""
    t = odd_function("tan(x / 2)", x)
    return chain_rule(x, t, lambda: (1 + t * t) / 2)


#: Functions of the tangent of half the angle.
_ANGLES: dict[str, Callable[[Dual], Dual]] = {
    "sin": lambda t: (t + t) / (1 + t * t),
    "cos": lambda t: (1 - t * t) / (1 + t * t),
    "tan": lambda t: (t + t) / (1 - t * t),
}
for _name, _form in _ANGLES.items():
    exact_rule(_name)(lambda x, form=_form: form(_half_angle(x)))


@exact_rule("tanh")
def tanh(x: Dual) -> Dual:
    """Return `(e^2 - 1) / (e^2 + 1)`, with the derivative `1 - tanh(x)^2`."""
    e = exp(x.primal())
    value = (e * e - 1) / (e * e + 1)
    return chain_rule(x, value, lambda: 1 - value * value)


@exact_rule("atan2", operands=(0, 1))
def _atan2(a: Dual, b: Dual) -> Dual:
    p, q = a.primal(), b.primal()
    scale = 1 / (p * p + q * q)
    return chain_rule_of_two(function_of_two("atan2", a, b), (a, lambda: q * scale), (b, lambda: -(p * scale)))


class _Inverse(NamedTuple):
    """An inverse function: odd or not, its derivative, and its domain."""

    function: Callable[[str, Dual], Dual]
    slope: Callable[[Dual], Dual]
    domain: Domain | None = None


_INVERSES = {
    "asin": _Inverse(odd_function, lambda x: 1 / root(1 - x * x), "unit"),
    "acos": _Inverse(uninterpreted, lambda x: -1 / root(1 - x * x), "unit"),
    "atan": _Inverse(odd_function, lambda x: 1 / (1 + x * x)),
    "asinh": _Inverse(odd_function, lambda x: 1 / root(1 + x * x)),
    "acosh": _Inverse(uninterpreted, lambda x: 1 / (root(x - 1) * root(x + 1)), "from_one"),
    "atanh": _Inverse(odd_function, lambda x: 1 / (1 - x * x), "unit_open"),
}


def _inverse(name: str, known: _Inverse, x: Dual) -> Dual:
    value = known.function(name, x)
    if known.domain is not None:
        value = with_domain(known.domain, x, value)
    return chain_rule(x, value, lambda: known.slope(x.primal()))


for _name, _known in _INVERSES.items():
    exact_rule(_name)(partial(_inverse, _name, _known))
for _name in ("deg2rad", "rad2deg"):  # by the number in the forward
    exact_rule(_name)(lambda x, forward=TABLE[_name].forward: x * forward(np.ones(())))


@exact_rule("sinc")
def _sinc(x: Dual) -> Any:
    x.point.domain_kinds("nonzero", x.value, x.degree)
    return (math.pi * x).sin() / (math.pi * x)


exact_rule("sinh")(lambda x: (exp(x) - 1 / exp(x)) / 2)
exact_rule("cosh")(lambda x: (exp(x) + 1 / exp(x)) / 2)


# The error function ------------------------------------------------------------------------------


@exact_rule("erf")
def erf(x: Dual) -> Dual:
    """Return erf: odd, with the derivative `2 / sqrt(pi) * exp(-x^2)`."""
    still = x.primal()
    return chain_rule(x, odd_function("erf", x), lambda: 2 / math.sqrt(math.pi) * exp(-(still * still)))


exact_rule("erfc")(lambda x: 1 - erf(x))


@exact_rule("xlogy", operands=(0, 1))
def _xlogy(x: Dual, y: Dual) -> Dual:
    """Return `x * log(y)`, which is 0 where x is, but for the derivative."""
    x.point.domain_kinds("nonzero", x.value, x.degree)
    return x * log(y)
