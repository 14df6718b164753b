"""The error function, its complement, and `xlogy`.

`erf` and `erfc` are right to about one unit in the last place. Their rational approximations are those of FreeBSD's
msun, `s_erf.c`, Copyright (C) 1993 by Sun Microsystems, Inc.; developed at SunPro; "permission to use, copy, modify,
and distribute this software is freely granted, provided that this notice is preserved". With s = |x|:

    s < 0.84375           erf = x + x P(x^2) / Q(x^2)
    0.84375 <= s < 1.25   erf = sign(x) (c + P(s - 1) / Q(s - 1)),  c = erf(1) rounded to single precision
    1.25 <= s < 28        erfc(s) = exp(-s^2 - 0.5625 + P(1 / s^2) / Q(1 / s^2)) / s, in two pieces around 1 / 0.35

Derivatives: NIST Digital Library of Mathematical Functions, 7.10.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.autograd.op import elementwise
from gradcheck.autograd.ops.comparison_where import where
from gradcheck.autograd.ops.exp_log_pow import exp, log

Function = Callable[[np.ndarray], Any]


def _xlogy_input(g: Any, y: Any, x: Any, z: Any) -> Any:
    flat = (x == 0) & (z <= 0)
    return where(flat, 0, g * log(where(flat, 1, z)))


@elementwise(
    (_xlogy_input, lambda g, y, x, z: g * (x / z)),
    aliases=("special.xlogy",),
    takes="f",
    floating=True,
    domain=((-3.0, 3.0), (0.1, 3.0)),
    kinks="other = 0",
    samples="xlogy(tensor([0.0, 0.0, 2.0]), tensor([0.0, 1.0, 3.0])); xlogy(2, uniform(0.1, 2, [3]))",
)
def xlogy(input: Any, other: Any) -> Any:
    """`input * log(other)`, and 0 where `input` is 0 (NaN where `other` is)."""
    product = input * np.log(np.where(input == 0, 1, other))
    return np.where(np.isnan(other), other, product)


#: Up to so many numbers, the C library is faster one by one, and as precise.
_FEW = 256


def _apply_elementwise(function: Callable[[float], float], x: np.ndarray) -> Any:
    values = x.ravel().tolist()
    return np.fromiter(map(function, values), np.float64, len(values)).reshape(x.shape).astype(x.dtype, copy=False)


_ERF: dict[str, Any] = {"takes": "f", "floating": True}


@elementwise(lambda g, y, x: g * (2 / math.sqrt(math.pi) * exp(-(x * x))), aliases=("special.erf",), **_ERF)
def erf(input: Any) -> Any:
    """The error function: 2 / sqrt(pi) times the integral of exp(-t^2)."""
    if type(input) is np.ndarray and input.size <= _FEW:
        return _apply_elementwise(math.erf, input)
    pieces = (lambda x: x + x * _ratio(_SMALL, x * x), lambda s: _C + _ratio(_NEAR_ONE, s - 1), lambda s: 1 - _tail(s))
    return _piecewise(input, pieces, at_negative=lambda value: -value)


@elementwise(lambda g, y, x: g * (-2 / math.sqrt(math.pi) * exp(-(x * x))), aliases=("special.erfc",), **_ERF)
def erfc(input: Any) -> Any:
    """`1 - erf(input)`, precise where that is small."""
    if type(input) is np.ndarray and input.size <= _FEW:
        return _apply_elementwise(math.erfc, input)
    pieces = (_small_complement, lambda s: (1 - _C) - _ratio(_NEAR_ONE, s - 1), _tail)
    return _piecewise(input, pieces, at_negative=lambda value: 2 - value)


def _piecewise(x: np.ndarray, pieces: tuple[Function, Function, Function], at_negative: Function) -> Any:
    """Apply each piece to its elements: the first to x, the others to |x|.

    `at_negative` turns the value of a piece at |x| into that at -|x|. The result has the dtype of `x`.
    """
    flat = np.asanyarray(x, dtype=np.float64).reshape(-1)
    size = np.abs(flat)
    small, near_one, large = size < 0.84375, (size >= 0.84375) & (size < 1.25), size >= 1.25
    result = flat.copy()  # NaN stays NaN
    for mask, piece, argument in zip((small, near_one, large), pieces, (flat, size, size), strict=True):
        if mask.any():
            result[mask] = piece(argument[mask])
    mirrored = (size >= 0.84375) & (flat < 0)
    result[mirrored] = at_negative(result[mirrored])
    return result.reshape(np.shape(x)).astype(x.dtype, copy=False)


def _small_complement(x: np.ndarray) -> Any:
    product = x * _ratio(_SMALL, x * x)
    return np.where(x < 0.25, 1 - (x + product), 0.5 - ((x - 0.5) + product))


def _tail(s: np.ndarray) -> Any:
    """erfc from 1.25 up; the square is split, or rounding would grow."""
    s = np.minimum(s, 28.0)  # where erfc is 0 in double precision
    t = 1 / (s * s)
    ratio = np.where(s < 1 / 0.35, _ratio(_MIDDLE, t), _ratio(_TAIL, t))
    head = s.astype(np.float32).astype(np.float64)  # its square is exact
    return np.exp(-head * head - 0.5625) * np.exp((head - s) * (head + s) + ratio) / s


def _ratio(coefficients: tuple[list[float], list[float]], t: np.ndarray) -> Any:
    top, bottom = coefficients
    return _polynomial(top, t) / _polynomial(bottom, t)


def _polynomial(coefficients: list[float], t: np.ndarray) -> Any:
    value = np.full_like(t, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * t + coefficient
    return value


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.split()]


# Numerators and denominators, coefficients from the constant term up.
_C = 8.45062911510467529297e-01
_SMALL = (
    _numbers("""1.28379167095512558561e-01 -3.25042107247001499370e-01 -2.84817495755985104766e-02
                -5.77027029648944159157e-03 -2.37630166566501626084e-05"""),
    _numbers("""1.0 3.97917223959155352819e-01 6.50222499887672944485e-02 5.08130628187576562776e-03
                1.32494738004321644526e-04 -3.96022827877536812320e-06"""),
)
_NEAR_ONE = (
    _numbers("""-2.36211856075265944077e-03 4.14856118683748331666e-01 -3.72207876035701323847e-01
                3.18346619901161753674e-01 -1.10894694282396677476e-01 3.54783043256182359371e-02
                -2.16637559486879084300e-03"""),
    _numbers("""1.0 1.06420880400844228286e-01 5.40397917702171048937e-01 7.18286544141962662868e-02
                1.26171219808761642112e-01 1.36370839120290507362e-02 1.19844998467991074170e-02"""),
)
_MIDDLE = (
    _numbers("""-9.86494403484714822705e-03 -6.93858572707181764372e-01 -1.05586262253232909814e+01
                -6.23753324503260060396e+01 -1.62396669462573470355e+02 -1.84605092906711035994e+02
                -8.12874355063065934246e+01 -9.81432934416914548592e+00"""),
    _numbers("""1.0 1.96512716674392571292e+01 1.37657754143519042600e+02 4.34565877475229228821e+02
                6.45387271733267880336e+02 4.29008140027567833386e+02 1.08635005541779435134e+02
                6.57024977031928170135e+00 -6.04244152148580987438e-02"""),
)
_TAIL = (
    _numbers("""-9.86494292470009928597e-03 -7.99283237680523006574e-01 -1.77579549177547519889e+01
                -1.60636384855821916062e+02 -6.37566443368389627722e+02 -1.02509513161107724954e+03
                -4.83519191608651397019e+02"""),
    _numbers("""1.0 3.03380607434824582924e+01 3.25792512996573918826e+02 1.53672958608443695994e+03
                3.19985821950859553908e+03 2.55305040643316442583e+03 4.74528541206955367215e+02
                -2.24409524465858183362e+01"""),
)
