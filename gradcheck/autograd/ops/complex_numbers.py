"""Complex numbers, their parts, and views as real numbers.

Gradients follow torch: that of a real L is dL/dRe + i dL/dIm, twice Wirtinger's derivative by the conjugate.
Source: Kreutz-Delgado, The complex gradient operator and the CR-calculus, 2009.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import NO_BFLOAT16, REAL_FLOATING
from gradcheck.autograd.dtypes import complex_of
from gradcheck.autograd.op import composite, elementwise, op
from gradcheck.autograd.ops.comparison_where import where
from gradcheck.autograd.promotion import require_one_dtype
from gradcheck.errors import DtypeMismatch, ShapeMismatch

_Z = "complex(randn(2, 3), randn(2, 3))"


@elementwise(lambda g, y, x: g, holomorphic=False, samples=f"real({_Z}); {_Z}.real")
def real(input: Any) -> Any:
    """The real part."""
    return np.real(input)


@elementwise(lambda g, y, x: g * 1j, holomorphic=False, domain=(), samples=f"imag({_Z}); {_Z}.imag")
def imag(input: Any) -> Any:
    """The imaginary part, of complex numbers only."""
    if input.dtype.kind != "c":
        raise DtypeMismatch(f"imag takes complex numbers, not {input.dtype}")
    return np.imag(input)


@elementwise(
    lambda g, y, x: ops.conj(g),
    aliases=("conj_physical",),
    holomorphic=False,
    latex=r"\overline{#}",
    samples=f"conj({_Z}); conj(randn(3))",
)
def conj(input: Any) -> Any:
    """The complex conjugate."""
    return np.conjugate(input) if input.dtype.kind == "c" else input


def _angle_rule(g: Any, y: Any, x: Any) -> Any:
    """i x / |x|^2, the direction of growth; 0 at 0, and for real numbers."""
    if x.dtype.kind != "c":
        return g * 0
    size = real(x) * real(x) + imag(x) * imag(x)
    return where(size == 0, 0, g * (x * 1j) / where(size == 0, 1, size))


@elementwise(
    _angle_rule,
    holomorphic=False,
    floating=True,
    kinks="0, and the negative real numbers",
    samples=f"angle({_Z}); angle(tensor([-1.0, 0.0, 2.0, nan]))",
)
def angle(input: Any) -> Any:
    """The angle of complex numbers, from -pi to pi; of real ones 0 or pi."""
    if input.dtype.kind == "c":
        return np.angle(input)
    return np.where(np.isnan(input), input, np.where(input < 0, np.pi, 0)).astype(input.dtype, copy=False)


@elementwise(
    (lambda g, y, a, b: real(g), lambda g, y, a, b: imag(g)),
    uniform=True,
    holomorphic=False,
    method=False,
    domain=((-3.0, 3.0), (-3.0, 3.0)),
    dtypes={"real imag": NO_BFLOAT16},
)
def complex(real: Any, imag: Any) -> Any:
    """The complex numbers of these parts."""
    if real.dtype.kind != "f":
        raise DtypeMismatch(f"complex takes parts that are real floating numbers, not {real.dtype}")
    result = np.empty(np.broadcast_shapes(real.shape, imag.shape), complex_of(real.dtype))
    result.real, result.imag = real, imag
    return result


@composite(method=False, dtypes={"abs angle": REAL_FLOATING}, samples="polar(uniform(0.5, 2, [3]), randn(3))")
def polar(abs: Any, angle: Any) -> Any:
    """The complex numbers of these lengths and angles."""
    require_one_dtype("polar", abs, angle)
    return complex(abs * ops.cos(angle), abs * ops.sin(angle))


@op(lambda g, y, x: ops.view_as_complex(g), holomorphic=False, samples=f"view_as_real({_Z})")
def view_as_real(input: Any) -> Any:
    """Real and imaginary parts along a new last dimension, of size 2."""
    if input.dtype.kind != "c":
        raise DtypeMismatch(f"view_as_real takes complex numbers, not {input.dtype}")
    return np.stack([input.real, input.imag], axis=-1)


@op(
    lambda g, y, x: view_as_real(g),
    holomorphic=False,
    dtypes={"input": NO_BFLOAT16},
    samples="view_as_complex(randn(3, 2))",
)
def view_as_complex(input: Any) -> Any:
    """The complex numbers whose parts lie along the last dimension, of size 2."""
    if input.ndim == 0 or input.shape[-1] != 2:
        raise ShapeMismatch(f"view_as_complex takes a last dimension of size 2, not the shape {input.shape}")
    return complex.forward(input[..., 0], input[..., 1])
