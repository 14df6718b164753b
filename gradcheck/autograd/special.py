"""The error function and its complement, which NumPy lacks, to about one unit in the last place.

Rational approximations of FreeBSD's msun, `s_erf.c`, Copyright (C) 1993 by Sun Microsystems, Inc.; developed at
SunPro; "permission to use, copy, modify, and distribute this software is freely granted, provided that this notice is
preserved". With s = |x|:

    s < 0.84375           erf = x + x P(x^2) / Q(x^2)
    0.84375 <= s < 1.25   erf = sign(x) (c + P(s - 1) / Q(s - 1)),  c = erf(1) rounded to single precision
    1.25 <= s < 28        erfc(s) = exp(-s^2 - 0.5625 + P(1 / s^2) / Q(1 / s^2)) / s, in two pieces around 1 / 0.35
"""

from __future__ import annotations

from typing import Any

import numpy as np

_C = 8.45062911510467529297e-01
# Coefficients from the constant term up.
_SMALL = (
    (1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
     -5.77027029648944159157e-03, -2.37630166566501626084e-05),
    (1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
     1.32494738004321644526e-04, -3.96022827877536812320e-06),
)  # fmt: skip
_NEAR_ONE = (
    (-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
     3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
     -2.16637559486879084300e-03),
    (1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
     1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02),
)  # fmt: skip
_MIDDLE = (
    (-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e+01,
     -6.23753324503260060396e+01, -1.62396669462573470355e+02, -1.84605092906711035994e+02,
     -8.12874355063065934246e+01, -9.81432934416914548592e+00),
    (1.0, 1.96512716674392571292e+01, 1.37657754143519042600e+02, 4.34565877475229228821e+02,
     6.45387271733267880336e+02, 4.29008140027567833386e+02, 1.08635005541779435134e+02,
     6.57024977031928170135e+00, -6.04244152148580987438e-02),
)  # fmt: skip
_TAIL = (
    (-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e+01,
     -1.60636384855821916062e+02, -6.37566443368389627722e+02, -1.02509513161107724954e+03,
     -4.83519191608651397019e+02),
    (1.0, 3.03380607434824582924e+01, 3.25792512996573918826e+02, 1.53672958608443695994e+03,
     3.19985821950859553908e+03, 2.55305040643316442583e+03, 4.74528541206955367215e+02,
     -2.24409524465858183362e+01),
)  # fmt: skip


def erf(x: np.ndarray) -> Any:
    """The error function of real numbers, in their own dtype."""
    return _piecewise(x, lambda s: s + s * _ratio(_SMALL, s * s), lambda s: _C + _ratio(_NEAR_ONE, s - 1),
                      lambda s: 1 - _tail(s), lambda positive: -positive)  # fmt: skip


def erfc(x: np.ndarray) -> Any:
    """`1 - erf(x)` of real numbers, in their own dtype, without cancellation."""
    return _piecewise(x, _small_complement, lambda s: (1 - _C) - _ratio(_NEAR_ONE, s - 1),
                      _tail, lambda positive: 2 - positive)  # fmt: skip


def _small_complement(s: np.ndarray) -> Any:
    product = s * _ratio(_SMALL, s * s)
    return np.where(s < 0.25, 1 - (s + product), 0.5 - ((s - 0.5) + product))


def _piecewise(x: np.ndarray, small: Any, near_one: Any, tail: Any, reflect: Any) -> Any:
    """Each piece at the elements that it serves; `reflect` gives the value at -s from that at s."""
    flat = np.asarray(x, dtype=np.float64).reshape(-1)
    size = np.abs(flat)
    result = flat.copy()  # NaN stays NaN
    pieces = ((size < 0.84375, small), ((size >= 0.84375) & (size < 1.25), near_one), (size >= 1.25, tail))
    for mask, piece in pieces:
        if mask.any():
            result[mask] = piece(flat[mask] if piece is small else size[mask])
    mirrored = (size >= 0.84375) & (flat < 0)
    result[mirrored] = reflect(result[mirrored])
    return result.reshape(np.shape(x)).astype(x.dtype, copy=False)


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], t: np.ndarray) -> Any:
    top, bottom = coefficients
    return _polynomial(top, t) / _polynomial(bottom, t)


def _polynomial(coefficients: tuple[float, ...], t: np.ndarray) -> Any:
    value = np.full_like(t, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * t + coefficient
    return value


def _tail(s: np.ndarray) -> Any:
    """erfc from 1.25 up. The square is split, since its rounding error would grow in the exponential."""
    s = np.minimum(s, 28.0)  # where erfc is 0 in double precision
    t = 1 / (s * s)
    ratio = np.where(s < 1 / 0.35, _ratio(_MIDDLE, t), _ratio(_TAIL, t))
    head = s.astype(np.float32).astype(np.float64)  # its square is exact
    return np.exp(-head * head - 0.5625) * np.exp((head - s) * (head + s) + ratio) / s
