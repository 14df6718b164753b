"""Discrete Fourier transforms, `fft.*`, made of torch's three kernels.

The kernels are complex to complex, real to complex, and complex to real. Each is linear; its adjoint is the inverse
transform with the same factor (Oppenheim and Schafer: Discrete-time signal processing, 2010, chapter 8).
"""

from __future__ import annotations

from functools import partial
from math import prod, sqrt
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import FULL, FULL_REAL
from gradcheck.autograd.dtypes import complex_of
from gradcheck.autograd.modes import default_dtype
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.common.dims import canonical_dim, canonical_dims, require_integer
from gradcheck.errors import ArgumentError, DtypeMismatch, ShapeMismatch

# torch's kernels -----------------------------------------------------------------------------------


def _factor(normalization: int, sizes: list[int]) -> float:
    """Return 1 for 0, 1 / sqrt(count) for 1, 1 / count for 2."""
    if require_integer(normalization, "the normalization") not in (0, 1, 2):
        raise ArgumentError(f"normalizations are 0, 1 and 2, not {normalization}")
    count = prod(sizes)
    return 1.0 if normalization == 0 else 1 / sqrt(count) if normalization == 1 else 1 / count


def _scaled(result: Any, normalization: int, sizes: list[int]) -> Any:
    factor = _factor(normalization, sizes)
    return result if factor == 1 else (result * factor).astype(result.dtype, copy=False)


_Z = "complex(randn(2, 3), randn(2, 3))"


@op(
    lambda g, y, x, dim, normalization, forward: ops._fft_c2c(g, dim, normalization, forward),
    name="_fft_c2c",
    method=False,
    samples=f"{{}}({_Z}, [1], 0, True); {{}}({_Z}, [0, 1], 2, False)",
)
def fft_c2c(input: Any, dim: Any, normalization: int, forward: bool) -> Any:
    """The transform of complex numbers over dimensions, or its inverse."""
    if input.dtype.kind != "c":
        raise DtypeMismatch(f"_fft_c2c takes complex numbers, not {input.dtype}")
    axes = list(canonical_dims(dim, input.ndim))
    if not axes or not input.size:
        return np.array(input)
    found = np.fft.fftn(input, axes=axes) if forward else np.fft.ifftn(input, axes=axes, norm="forward")
    return _scaled(found, normalization, [input.shape[axis] for axis in axes])


def _r2c_rule(g: Any, y: Any, x: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    """Only the computed half is a result, so the other half has no cotangent."""
    whole = _resized(g, {canonical_dim(dim[-1], x.ndim): x.shape[dim[-1]]}) if onesided else g
    return ops.real(fft_c2c(whole, dim, normalization, False))


@op(
    _r2c_rule,
    name="_fft_r2c",
    method=False,
    holomorphic=False,
    samples="{}(randn(2, 5), [1], 0, True); {}(randn(2, 4), [0, 1], 1, True); {}(randn(2, 3), [1], 0, False)",
)
def fft_r2c(input: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    """The transform of real numbers; `onesided` drops the mirrored half."""
    if input.dtype.kind != "f":
        raise DtypeMismatch(f"_fft_r2c takes real numbers, not {input.dtype}")
    axes = list(canonical_dims(dim, input.ndim))
    if not axes or not input.size:
        shape = list(input.shape)
        if onesided and axes:
            shape[axes[-1]] = shape[axes[-1]] // 2 + 1
        return np.zeros(shape, complex_of(input.dtype))
    found = np.fft.rfftn(input, axes=axes) if onesided else np.fft.fftn(input, axes=axes)
    return _scaled(found, normalization, [input.shape[axis] for axis in axes])


def _c2r_rule(g: Any, y: Any, x: Any, dim: Any, normalization: int, last_dim_size: int) -> Any:
    """Numbers that stand for themselves and a mirror get twice as much."""
    back = fft_r2c(g, dim, normalization, True)
    axis, middle = canonical_dim(dim[-1], x.ndim), (last_dim_size - 1) // 2
    rest = back.shape[axis] - 1 - middle
    weights = ops.cat([ops.ones([1]), ops.full([middle], 2.0), ops.ones([rest])])
    shape = [1] * x.ndim
    shape[axis] = back.shape[axis]
    return back * ops.reshape(ops.to(weights, g.dtype), shape)


@op(
    _c2r_rule,
    name="_fft_c2r",
    method=False,
    holomorphic=False,
    samples=f"{{}}({_Z}, [1], 0, 5); {{}}({_Z}, [0, 1], 2, 4)",
    elements=lambda input, dim, normalization, size: max(
        prod(input.shape) * 2, prod(input.shape) // max(int(input.shape[canonical_dims(dim, input.ndim)[-1]]), 1) * size
    ),
)
def fft_c2r(input: Any, dim: Any, normalization: int, last_dim_size: int) -> Any:
    """The inverse transform to `last_dim_size` real numbers."""
    if input.dtype.kind != "c":
        raise DtypeMismatch(f"_fft_c2r takes complex numbers, not {input.dtype}")
    axes = list(canonical_dims(dim, input.ndim))
    sizes = [input.shape[axis] for axis in axes[:-1]] + [require_integer(last_dim_size, "a size")]
    found = np.fft.irfftn(input, s=sizes, axes=axes, norm="forward")
    return _scaled(found, normalization, sizes)


# What all transforms have in common ------------------------------------------------------------------


def _mode(norm: str | None, forward: bool) -> int:
    if norm == "ortho":
        return 1
    if norm not in (None, "backward", "forward"):
        raise ArgumentError(f"{norm!r} is no normalization", hint="expected 'backward', 'forward' or 'ortho'")
    return 2 if (norm == "forward") == forward else 0


def _floating(input: Any) -> Any:
    return ops.to(input, default_dtype()) if input.dtype.kind in "biu" else input


def _complex(input: Any) -> Any:
    floating = _floating(input)
    return floating if floating.dtype.kind == "c" else ops.to(floating, complex_of(floating.dtype))


def _real(input: Any, name: str) -> Any:
    if input.dtype.kind == "c":
        raise DtypeMismatch(f"{name} takes real numbers, not {input.dtype}")
    return _floating(input)


def _resized(input: Any, sizes: dict[int, int]) -> Any:
    """Truncate or zero-pad the end of each of these dimensions."""
    pads = [0, 0] * input.ndim
    for axis, size in sizes.items():
        if size < 1:
            raise ShapeMismatch(f"a transform of {size} numbers; it takes at least 1")
        pads[2 * (input.ndim - 1 - axis) + 1] = size - input.shape[axis]
    return ops.constant_pad_nd(input, tuple(pads)) if any(pads) else input


def _axes_and_sizes(input: Any, s: Any, dim: Any) -> tuple[list[int], dict[int, int]]:
    """Return the dimensions of a transform, and their sizes."""
    given = (
        None
        if s is None
        else [require_integer(size, "a size") for size in (s if isinstance(s, (list, tuple)) else [s])]
    )
    if dim is None:
        count = input.ndim if given is None else len(given)
        if count > input.ndim:
            raise ShapeMismatch(f"{count} sizes for a tensor with {input.ndim} dimensions")
        axes = list(range(input.ndim - count, input.ndim))
    else:
        axes = list(canonical_dims(dim, input.ndim))
    if given is not None and len(given) != len(axes):
        raise ShapeMismatch(f"{len(given)} sizes for {len(axes)} dimensions")
    sizes = {axis: input.shape[axis] for axis in axes}
    for axis, size in zip(axes, given or [], strict=False):
        sizes[axis] = sizes[axis] if size == -1 else size
    return axes, sizes


def _elements(input: Any, s: Any, dim: Any, norm: Any) -> int:
    """Return the number of elements of the result, or a few more."""
    return _elements_upper_bound(input, _axes_and_sizes(input, s, dim)[1])


def _elements_of_real(input: Any, s: Any, dim: Any, norm: Any) -> int:
    """Return the size of a result whose last dimension may be inferred."""
    axes, sizes = _axes_and_sizes(input, s, dim)
    return _elements_upper_bound(input, _halved_sizes(input, axes, sizes, s) if axes else sizes)


def _elements_upper_bound(input: Any, sizes: dict[int, int]) -> int:
    return prod(int(sizes.get(axis, size)) + 1 for axis, size in enumerate(input.shape))


def _halved_sizes(input: Any, axes: list[int], sizes: dict[int, int], s: Any) -> dict[int, int]:
    """Return the sizes; the last one is `2 (n - 1)` unless given."""
    listed = s if isinstance(s, (list, tuple)) else [s]
    told = s is not None and listed[-1] != -1
    return sizes if told else {**sizes, axes[-1]: 2 * (input.shape[axes[-1]] - 1)}


# Over dimensions, in the five kinds ------------------------------------------------------------------


def _complex_transform(input: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Any:
    axes, sizes = _axes_and_sizes(input, s, dim)
    return fft_c2c(_resized(_complex(input), sizes), axes, _mode(norm, forward), forward)


def _real_to_complex(input: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Any:
    """Do `rfft`, or its inverse `ihfft`, conjugated along the last dimension."""
    axes, sizes = _axes_and_sizes(input, s, dim)
    if not axes:
        raise ShapeMismatch("a transform of real numbers needs at least one dimension")
    real = _resized(_real(input, "rfft" if forward else "ihfft"), sizes)
    if forward:
        return fft_r2c(real, axes, _mode(norm, True), True)
    half = ops.conj(fft_r2c(real, axes[-1:], _mode(norm, False), True))
    return fft_c2c(half, axes[:-1], _mode(norm, False), False) if axes[:-1] else half


def _complex_to_real(input: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Any:
    """Do `irfft`, or the forward `hfft`, of the conjugate."""
    axes, sizes = _axes_and_sizes(input, s, dim)
    if not axes:
        raise ShapeMismatch("a transform into real numbers needs at least one dimension")
    sizes = _halved_sizes(input, axes, sizes, s)
    last, mode = sizes[axes[-1]], _mode(norm, forward)
    if last < 1:
        raise ShapeMismatch(f"a transform into {last} numbers; it makes at least 1")
    whole = _resized(_complex(input), {**sizes, axes[-1]: last // 2 + 1})
    if not forward:
        return fft_c2r(whole, axes, mode, last)
    turned = fft_c2c(whole, axes[:-1], mode, True) if axes[:-1] else whole
    return fft_c2r(ops.conj(turned), axes[-1:], mode, last)


_KINDS = {
    "fft": (_complex_transform, True, "The discrete Fourier transform"),
    "ifft": (_complex_transform, False, "The inverse transform"),
    "rfft": (_real_to_complex, True, "The transform of real numbers, without the half that mirrors the other"),
    "ihfft": (
        _real_to_complex,
        False,
        "The inverse transform of real numbers, without the half that mirrors the other",
    ),
    "irfft": (_complex_to_real, False, "The inverse transform of numbers whose other half mirrors them: real ones"),
    "hfft": (_complex_to_real, True, "The transform of numbers whose other half mirrors them: real ones"),
}
#: torch has no real transform of complex numbers.
_TAKEN = {_complex_transform: FULL, _complex_to_real: FULL, _real_to_complex: FULL_REAL}
_SAMPLES = {
    _complex_transform: (
        f"{{}}({_Z}); {{}}(randn(2, 4), 3, 0, 'ortho')",
        f"{{}}({_Z}); {{}}(randn(2, 4), (3, 2), norm='forward')",
    ),
    _real_to_complex: ("{}(randn(2, 5)); {}(randn(2, 4), 3, 0, 'ortho')", "{}(randn(2, 5)); {}(randn(2, 4), (3, 2))"),
    _complex_to_real: (f"{{}}({_Z}); {{}}({_Z}, 3, 0, 'ortho')", f"{{}}({_Z}); {{}}({_Z}, (3, 5), norm='forward')"),
}


def _transform(kind: str) -> None:
    how, forward, doc = _KINDS[kind]
    one, several = _SAMPLES[how]
    count = _elements_of_real if how is _complex_to_real else _elements
    entry = partial(composite, method=False, elements=count, dtypes={"input": _TAKEN[how]})

    @entry(name=f"fft.{kind}", doc=f"{doc}, along one dimension.", samples=one)
    def along(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        if n is not None and n < 1:
            raise ShapeMismatch(f"a transform of {n} numbers; it takes at least 1")
        return how(input, n, dim, norm, forward)

    @entry(name=f"fft.{kind}2", doc=f"{doc}, over two dimensions.", samples=several)
    def over_two(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Any:
        return how(input, s, dim, norm, forward)

    @entry(name=f"fft.{kind}n", doc=f"{doc}, over several dimensions.", samples=several)
    def over_several(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
        return how(input, s, dim, norm, forward)


for _kind in _KINDS:
    _transform(_kind)


def _shifted(input: Any, dim: Any, sign: int) -> Any:
    axes = tuple(range(input.ndim)) if dim is None else canonical_dims(dim, input.ndim)
    shifts = tuple(size // 2 if sign > 0 else (size + 1) // 2 for size in (input.shape[axis] for axis in axes))
    return ops.roll(input, shifts, axes) if axes else input


@composite(name="fft.fftshift", method=False, samples="{}(randn(2, 5)); {}(randn(3, 4), 1)")
def fftshift(input: Any, dim: Any = None) -> Any:
    """Frequency 0 moved from the first place to the middle."""
    return _shifted(input, dim, 1)


@composite(name="fft.ifftshift", method=False, samples="{}(randn(2, 5)); {}(randn(3, 4), (0, 1))")
def ifftshift(input: Any, dim: Any = None) -> Any:
    """The inverse of `fftshift`."""
    return _shifted(input, dim, -1)
