"""Trigonometric and hyperbolic functions, their inverses, `sinc`.

Derivatives: NIST Digital Library of Mathematical Functions, 4.20, 4.24, 4.34 and 4.38.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.op import elementwise, row
from gradcheck.autograd.ops.comparison_where import where
from gradcheck.autograd.ops.exp_log_pow import rsqrt, sqrt

_smooth = partial(row, floating=True, analytic=True)
_inside = partial(_smooth, domain=((-0.95, 0.95),), kinks="-1, 1")
_angle = partial(row, takes="f", floating=True)

sin = _smooth("sin", "The sine.", np.sin, lambda g, y, x: g * ops.cos(x))
cos = _smooth("cos", "The cosine.", np.cos, lambda g, y, x: g * -sin(x))
_smooth("tan", "The tangent.", np.tan, lambda g, y, x: g * (1 + y * y), domain=((-1.4, 1.4),), kinks="poles")
_inside(
    "asin",
    "The inverse sine.",
    np.arcsin,
    lambda g, y, x: g * rsqrt(1 - x * x),
    aliases=("arcsin",),
    latex=r"\arcsin",
)
_inside(
    "acos",
    "The inverse cosine.",
    np.arccos,
    lambda g, y, x: -g * rsqrt(1 - x * x),
    aliases=("arccos",),
    latex=r"\arccos",
)
_smooth(
    "atan", "The inverse tangent.", np.arctan, lambda g, y, x: g / (x * x + 1), aliases=("arctan",), latex=r"\arctan"
)
_angle(
    "atan2",
    "The angle of the point (other, input), from -pi to pi.",
    np.arctan2,
    (lambda g, y, a, b: g * (b / (a * a + b * b)), lambda g, y, a, b: -g * (a / (a * a + b * b))),
    aliases=("arctan2",),
    domain=((-3.0, 3.0), (-3.0, 3.0)),
    kinks="0, 0",
)
_DEGREE = np.pi / 180
_CIRCLE = ((-180.0, 180.0),)
_angle("deg2rad", "Degrees as radians.", lambda input: input * _DEGREE, lambda g, y, x: g * _DEGREE, domain=_CIRCLE)
_angle("rad2deg", "Radians as degrees.", lambda input: input * (180 / np.pi), lambda g, y, x: g * (180 / np.pi))

sinh = _smooth("sinh", "The hyperbolic sine.", np.sinh, lambda g, y, x: g * ops.cosh(x))
cosh = _smooth("cosh", "The hyperbolic cosine.", np.cosh, lambda g, y, x: g * sinh(x))
tanh = _smooth("tanh", "The hyperbolic tangent.", np.tanh, lambda g, y, x: g * (1 - y * y))
_smooth("asinh", "The inverse hyperbolic sine.", np.arcsinh, lambda g, y, x: g * rsqrt(x * x + 1), aliases=("arcsinh",))
_smooth(
    "acosh",
    "The inverse hyperbolic cosine.",
    np.arccosh,
    lambda g, y, x: g / (sqrt(x - 1) * sqrt(x + 1)),
    aliases=("arccosh",),
    domain=((1.1, 4.0),),
    kinks="1",
)
_inside("atanh", "The inverse hyperbolic tangent.", np.arctanh, lambda g, y, x: g / (1 - x * x), aliases=("arctanh",))


def _sinc_rule(g: Any, y: Any, x: Any) -> Any:
    """The slope is (cos(pi x) - sinc(x)) / x, and 0 at 0."""
    return where(x == 0, 0, g * ((cos(x * math.pi) - y) / where(x == 0, 1, x)))


@elementwise(_sinc_rule, aliases=("special.sinc",), floating=True, analytic=True)
def sinc(input: Any) -> Any:
    """`sin(pi x) / (pi x)`, and 1 at 0."""
    angle = math.pi * input
    return np.where(input == 0, 1, np.sin(angle) / np.where(input == 0, 1, angle)).astype(input.dtype, copy=False)
