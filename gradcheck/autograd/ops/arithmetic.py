"""Arithmetic with broadcasting, element by element; absolutes and signs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import FLOATING, NUMBERS
from gradcheck.autograd.modes import default_dtype
from gradcheck.autograd.op import composite, elementwise, row
from gradcheck.autograd.ops.comparison_where import where
from gradcheck.autograd.ops.complex_numbers import conj, real
from gradcheck.autograd.ops.creation import zeros_like
from gradcheck.autograd.ops.rounding_remainder import floor_divide, refuse_zeros
from gradcheck.errors import ArgumentError

_TWO = ((-3.0, 3.0), (-3.0, 3.0))
_DIVISOR = ((-3.0, 3.0), (0.3, 3.0))


@elementwise(
    (lambda g, y, a, b, alpha=1: g, lambda g, y, a, b, alpha=1: g if alpha == 1 else g * alpha),
    ufunc=np.add,
    domain=_TWO,
    latex="# + #",
    samples="add(randn(2, 3), randn(3), alpha=2); 1 + randn(3); randn(3) + randint(0, 5, [3])",
    analytic=True,
)
def add(input: Any, other: Any, *, alpha: float = 1) -> Any:
    """The sum `input + alpha * other`."""
    return np.add(input, other) if alpha == 1 else input + alpha * other


@elementwise(
    (lambda g, y, a, b, alpha=1: g, lambda g, y, a, b, alpha=1: g * -alpha),
    aliases=("subtract",),
    ufunc=np.subtract,
    numeric=True,
    domain=_TWO,
    latex="# - #",
    samples="sub(randn(2, 3), randn(3), alpha=2); 1 - randn(3)",
    analytic=True,
)
def sub(input: Any, other: Any, *, alpha: float = 1) -> Any:
    """The difference `input - alpha * other`."""
    return np.subtract(input, other) if alpha == 1 else input - alpha * other


@composite(samples="rsub(randn(3), randn(3)); rsub(randn(3), 2, alpha=3)")
def rsub(input: Any, other: Any, *, alpha: float = 1) -> Any:
    """The difference the other way round, `other - alpha * input`."""
    return sub(other, input, alpha=alpha)


@elementwise(
    (lambda g, y, a, b: g * b, lambda g, y, a, b: g * a),
    aliases=("multiply",),
    ufunc=np.multiply,
    domain=_TWO,
    samples="2 * randn(3)",
    analytic=True,
)
def mul(input: Any, other: Any) -> Any:
    """The product, element by element."""
    return np.multiply(input, other)


row("neg", "The negative.", np.negative, lambda g, y, x: -g, aliases=("negative",), analytic=True, latex="-#")
row("positive", "The same numbers.", np.positive, lambda g, y, x: g, analytic=True)


@elementwise(
    lambda g, y, x: g * ops.sgn(x),
    aliases=("absolute",),
    takes="ifc",
    holomorphic=False,
    kinks="0, where the gradient is 0",
    latex=r"\left|#\right|",
    samples="abs(complex(randn(2, 3), randn(2, 3))); abs(tensor([0.0, -0.0, inf, -inf, nan])); abs(tensor([-2, 3]))",
)
def abs(input: Any) -> Any:
    """The absolute value; of complex numbers, too."""
    return np.abs(input)


_FLAT: dict[str, Any] = {"kinks": "0; the gradient is 0"}


@elementwise((None,), takes="bif", latex=r"\operatorname{sgn}", samples="sign(tensor([-2.0, 0.0, 3.0, nan]))", **_FLAT)
def sign(input: Any) -> Any:
    """-1, 0 or 1; 0 for NaN, as in torch."""
    if input.dtype.kind == "b":
        return input
    return np.where(np.isnan(input), 0, np.sign(input)).astype(input.dtype, copy=False)


def _sgn_rule(g: Any, y: Any, x: Any) -> Any:
    """The part of g / |x| across the direction of x; 0 at 0 and for reals."""
    if x.dtype.kind != "c":
        return g * 0
    size = abs(x)
    divisor = where(size == 0, 1, size)
    return where(size == 0, 0, (g - real(g * conj(y)) * y) / divisor)


@elementwise(
    _sgn_rule,
    holomorphic=False,
    samples="sgn(complex(randn(2, 3), randn(2, 3))); sgn(tensor([-2.0, 0.0, 3.0]))",
    **_FLAT,
)
def sgn(input: Any) -> Any:
    """The direction, `input / abs(input)`, and 0 at 0; the sign of reals."""
    if input.dtype.kind != "c":
        return sign.forward(input)
    size = np.abs(input)
    return np.where(size == 0, 0, input / np.where(size == 0, 1, size)).astype(input.dtype, copy=False)


@elementwise(
    (
        lambda g, y, a, b, rounding_mode=None: g / b if rounding_mode is None else zeros_like(g),
        lambda g, y, a, b, rounding_mode=None: -g * (y / b) if rounding_mode is None else zeros_like(g),
    ),
    aliases=("divide", "true_divide"),
    ufunc=np.true_divide,
    domain=_DIVISOR,
    kinks="other = 0",
    samples="""
        div(randn(2, 3), uniform(0.3, 2, [3]), rounding_mode='floor');
        div(randn(2, 3), uniform(-2, -0.3, [3]), rounding_mode='trunc'); 1 / uniform(0.3, 2, [3]);
        randint(0, 5, [3]) / 2; div(randint(-5, 5, [4]), 2, rounding_mode='trunc');
        div(randint(-5, 5, [4]), 2, rounding_mode='floor')
    """,
    analytic=True,
)
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """The quotient; "floor" rounds it down, "trunc" toward zero.

    Integers divide to the default dtype, unless rounded.
    """
    if rounding_mode is None:
        if input.dtype.kind in "biu":
            input, other = input.astype(default_dtype()), other.astype(default_dtype())
        return np.true_divide(input, other)
    if rounding_mode not in ("floor", "trunc"):
        raise ArgumentError(f"div: rounding_mode is None, 'floor' or 'trunc', not {rounding_mode!r}")
    if rounding_mode == "floor":
        return floor_divide.forward(input, other)
    if input.dtype.kind == "f":
        return np.trunc(input / other)
    refuse_zeros("div", other)
    return (input - np.fmod(input, other)) // other


@elementwise(lambda g, y, x: -g * (y * y), floating=True, domain=((0.3, 3.0),), kinks="0", analytic=True)
def reciprocal(input: Any) -> Any:
    """One divided by each element."""
    return 1 / input


@elementwise(
    (lambda g, y, a, b, w: g * (1 - w), lambda g, y, a, b, w: g * w, lambda g, y, a, b, w: g * (b - a)),
    uniform=True,
    domain=(*_TWO, (-1.0, 2.0)),
    dtypes={"input end": FLOATING},
    samples="lerp(randn(2, 3), randn(2, 3), 0.25); lerp(randn(3), randn(2, 1), uniform(0, 1, [3]))",
    analytic=True,
)
def lerp(input: Any, end: Any, weight: Any) -> Any:
    """Interpolation, `input + weight * (end - input)`, exact at 0 and 1."""
    step = end - input
    return np.where(np.abs(weight) < 0.5, input + weight * step, end - step * (1 - weight))


@elementwise(
    (lambda g, y, a, b: g * (a / y), lambda g, y, a, b: g * (b / y)),
    takes="f",
    domain=_DIVISOR,
    kinks="0, 0",
)
def hypot(input: Any, other: Any) -> Any:
    """The hypotenuse, `sqrt(input**2 + other**2)`, without overflow."""
    return np.hypot(input, other)


@composite(
    dtypes={"tensor1": NUMBERS},
    samples="addcmul(randn(2, 3), randn(3), randn(2, 1), value=0.5); addcmul(randn(3), randn(3), randn(3))",
)
def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    """`input + value * tensor1 * tensor2`."""
    return input + value * (tensor1 * tensor2)


@composite(dtypes={"tensor1": NUMBERS}, samples="addcdiv(randn(2, 3), randn(3), uniform(0.5, 2, [2, 1]), value=0.5)")
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    """`input + value * tensor1 / tensor2`."""
    return input + value * (tensor1 / tensor2)
