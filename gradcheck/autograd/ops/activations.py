"""Activations, element by element, stable for arguments of any size.

Sources: silu: Elfwing, Uchibe, Doya 2017; softplus: Dugas et al. 2000; mish: Misra 2019; elu: Clevert, Unterthiner,
Hochreiter 2015; selu: Klambauer et al. 2017; celu: Barron 2017; gelu: Hendrycks and Gimpel 2016.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gradcheck.autograd.dtype_sets import REAL_FLOATING
from gradcheck.autograd.op import Documented, composite, elementwise
from gradcheck.autograd.ops.comparison_where import where
from gradcheck.autograd.ops.error_functions import erf
from gradcheck.autograd.ops.exp_log_pow import exp
from gradcheck.autograd.ops.trigonometric import tanh
from gradcheck.errors import ArgumentError, DomainError

_activation = partial(elementwise, takes="f", torch="nn.functional.{}")
_composed = partial(composite, torch="nn.functional.{}")
_WIDE = ((-6.0, 6.0),)
_EXTREMES = "tensor([-1000.0, -30.0, 0.0, 30.0, 1000.0, inf, -inf, nan])"


@elementwise(
    lambda g, y, x: g * ((1 - y) * y),
    aliases=("special.expit",),
    floating=True,
    domain=_WIDE,
    latex=r"\sigma",
    samples=f"sigmoid({_EXTREMES})",
    analytic=True,
)
def sigmoid(input: Any) -> Any:
    """`1 / (1 + exp(-input))`."""
    return 1 / (1 + np.exp(-input))


def _logit_rule(g: Any, y: Any, x: Any, eps: float | None) -> Any:
    """NaN outside of [0, 1] without `eps`; 0 where `eps` moves `x`."""
    outside = (x < (eps or 0)) | (x > 1 - (eps or 0))
    return where(outside, math.nan if eps is None else 0, g / where(outside, 0.5, x * (1 - x)))


@elementwise(
    _logit_rule,
    aliases=("special.logit",),
    floating=True,
    takes="f",
    domain=((0.05, 0.95),),
    kinks="0, 1",
    samples="logit(tensor([0.0, 0.1, 0.5, 0.9, 1.0]), 0.2); logit(tensor([0.25, 1.5, -0.5]))",
)
def logit(input: Any, eps: float | None = None) -> Any:
    """`log(x / (1 - x))`, for `input` clamped to `eps` and `1 - eps`."""
    x = input if eps is None else np.clip(input, eps, 1 - eps)
    return np.log(x / (1 - x))


@_activation(
    lambda g, y, x: g * sigmoid(-x),
    domain=_WIDE,
    samples="logsigmoid(tensor([-1000.0, -30.0, 0.0, 30.0, 1000.0, inf, -inf]))",
)
def logsigmoid(input: Any) -> Any:
    """`log(sigmoid(input))`, without overflow."""
    return np.minimum(input, 0) - np.log1p(np.exp(-np.abs(input)))


def _silu_rule(g: Any, y: Any, x: Any) -> Any:
    s = sigmoid(x)
    return g * (s * (1 + x * (1 - s)))


@_activation(
    _silu_rule,
    takes="fc",
    domain=_WIDE,
    samples="silu(tensor([-1000.0, -30.0, 0.0, 30.0, 1000.0]))",
    analytic=True,
)
def silu(input: Any) -> Any:
    """`input * sigmoid(input)`, also called swish."""
    return input / (1 + np.exp(-input))


def _softplus_rule(g: Any, y: Any, x: Any, beta: Any, threshold: float) -> Any:
    smooth = g * sigmoid(x * beta)
    return smooth if threshold == math.inf else where(x * beta > threshold, g, smooth)


@_activation(
    _softplus_rule,
    domain=_WIDE,
    kinks="input * beta = threshold",
    documented=Documented({"threshold": math.inf}, "input * beta > 20", 2.1e-9),
    samples=f"softplus({_EXTREMES}); softplus(randn(2, 3), 2.0, 1.0); softplus(randn(3), beta=0.5)",
)
def softplus(input: Any, beta: float = 1, threshold: float = 20) -> Any:
    """`log(1 + exp(beta * input)) / beta`; `input` itself above the threshold."""
    scaled = input * beta
    smooth = np.logaddexp(scaled, np.zeros((), scaled.dtype)) / beta
    return smooth if threshold == np.inf else np.where(scaled > threshold, input, smooth)


@_composed(samples="mish(randn(2, 3)); mish(tensor([-1000.0, 0.0, 1000.0]))")
def mish(input: Any) -> Any:
    """`input * tanh(softplus(input))`."""
    return input * tanh(softplus(input))


@elementwise(
    lambda g, y, x: where(x <= 0, 0, g),
    takes="if",
    kinks="0, where the gradient is 0",
    samples="relu(tensor([-1.0, 0.0, 2.0, nan, inf, -inf])); relu(randint(-3, 3, [4]))",
)
def relu(input: Any) -> Any:
    """The larger of `input` and 0."""
    return np.maximum(input, 0)


@_activation(
    lambda g, y, x, negative_slope: where(x > 0, g, g * negative_slope),
    kinks="0, where the gradient is that of negative numbers",
    samples="leaky_relu(tensor([-1.0, 0.0, 2.0])); leaky_relu(randn(2, 3), 0.2)",
)
def leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    """`input`, and `negative_slope` times it where negative."""
    return np.where(input > 0, input, input * negative_slope)


def _elu_rule(g: Any, y: Any, x: Any, alpha: float) -> Any:
    """The inner `where` keeps overflows for x > 0 out of second derivatives."""
    return where(x > 0, g, g * (alpha * exp(where(x < 0, x, 0))))


@_activation(
    _elu_rule,
    kinks="0, unless alpha is 1",
    samples="elu(tensor([-1000.0, -1.0, 0.0, 2.0, 1000.0])); elu(randn(2, 3), 0.5)",
)
def elu(input: Any, alpha: float = 1.0) -> Any:
    """`input`, and `alpha * (exp(input) - 1)` where negative."""
    return np.where(input > 0, input, alpha * np.expm1(np.minimum(input, 0)))


@composite(samples="selu(randn(2, 3)); selu(tensor([-1000.0, 0.0, 1000.0]))")
def selu(input: Any) -> Any:
    """`elu` scaled so that activations stay normalized."""
    return elu(input, 1.6732632423543772848170429916717) * 1.0507009873554804934193349852946


@composite(dtypes={"input": REAL_FLOATING}, samples="celu(randn(2, 3)); celu(randn(2, 3), 0.5)")
def celu(input: Any, alpha: float = 1.0) -> Any:
    """`input`, and `alpha * (exp(input / alpha) - 1)` where negative."""
    if alpha == 0:
        raise DomainError("celu takes an alpha other than 0")
    return elu(input / alpha) * alpha


@_activation(
    lambda g, y, x, min_val, max_val: where((x <= min_val) | (x >= max_val), 0, g),
    takes="if",
    kinks="min_val and max_val, where the gradient is 0",
    samples="hardtanh(tensor([-2.0, -1.0, 0.5, 1.0, 2.0, nan])); hardtanh(randn(2, 3), -0.5, 0.7)",
)
def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """`input`, kept between `min_val` and `max_val`."""
    if min_val > max_val:
        raise ArgumentError(f"hardtanh takes a min_val below its max_val, not {min_val} and {max_val}")
    return np.minimum(np.maximum(input, np.asarray(min_val, input.dtype)), np.asarray(max_val, input.dtype))


@_composed(samples="relu6(randn(2, 3) * 5); relu6(tensor([-1.0, 0.0, 3.0, 6.0, 7.0]))")
def relu6(input: Any) -> Any:
    """`input`, kept between 0 and 6."""
    return hardtanh(input, 0.0, 6.0)


@elementwise(
    lambda g, y, x, threshold, value: where(x <= threshold, 0, g),
    takes="if",
    domain=(),
    kinks="threshold",
    samples="threshold(randn(2, 3), 0.1, 20.0); threshold(tensor([0.0, 1.0, nan]), 0.0, -1.0)",
)
def threshold(input: Any, threshold: float, value: float) -> Any:
    """`input` where it is above `threshold`, `value` elsewhere."""
    return np.where(input <= threshold, np.asarray(value, input.dtype), input)


def _shrink_rule(g: Any, y: Any, x: Any, lambd: float) -> Any:
    return where((x >= -lambd) & (x <= lambd), 0, g)


_SHRINK: dict[str, Any] = {
    "kinks": "-lambd, lambd",
    "samples": "{}(tensor([-1.0, -0.5, 0.2, 0.5, 2.0])); {}(randn(2, 3), 0.3)",
}


@_activation(_shrink_rule, **_SHRINK)
def hardshrink(input: Any, lambd: float = 0.5) -> Any:
    """`input`, and 0 where it is within `lambd` of 0."""
    return np.where((input >= -lambd) & (input <= lambd), np.zeros_like(input), input)


@_activation(_shrink_rule, **_SHRINK)
def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """`input` moved toward 0 by `lambd`, but not past it."""
    if lambd < 0:
        raise ArgumentError(f"softshrink takes a lambd of at least 0, not {lambd}")
    return np.where(input > lambd, input - lambd, np.where(input < -lambd, input + lambd, input * 0))


@_composed(samples="softsign(randn(2, 3))")
def softsign(input: Any) -> Any:
    """`input / (1 + abs(input))`."""
    return input / (1 + abs(input))


@_composed(samples="tanhshrink(randn(2, 3))")
def tanhshrink(input: Any) -> Any:
    """`input - tanh(input)`."""
    return input - tanh(input)


#: sqrt(2 / pi), and the coefficient of the cube, in gelu's approximation.
GELU_SLOPE, GELU_CUBE = math.sqrt(2 / math.pi), 0.044715


def _gelu_rule(g: Any, y: Any, x: Any, approximate: str) -> Any:
    if approximate == "none":
        density = exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))
        return g * (0.5 * (1 + erf(x * math.sqrt(0.5))) + x * density)
    t = tanh(GELU_SLOPE * (x + GELU_CUBE * (x * x * x)))
    slope = GELU_SLOPE * (1 + 3 * GELU_CUBE * (x * x))
    return g * (0.5 * (1 + t) + 0.5 * x * ((1 - t * t) * slope))


@_activation(
    _gelu_rule,
    samples="""
        gelu(randn(2, 3), approximate='tanh'); gelu(tensor([-1000.0, -5.0, 0.0, 5.0, 1000.0]));
        gelu(tensor([-1000.0, -5.0, 0.0, 5.0, 1000.0]), approximate='tanh')
    """,
)
def gelu(input: Any, *, approximate: str = "none") -> Any:
    """`input` times the normal distribution function at it.

    "tanh" approximates that (Hendrycks and Gimpel 2016).
    """
    if approximate == "none":
        return input * (0.5 * (1 + erf(input * math.sqrt(0.5))))
    if approximate != "tanh":
        raise ArgumentError(f"gelu: approximate is 'none' or 'tanh', not {approximate!r}")
    inner = GELU_SLOPE * (input + GELU_CUBE * (input * input * input))
    return 0.5 * input * (1 + np.tanh(inner))
