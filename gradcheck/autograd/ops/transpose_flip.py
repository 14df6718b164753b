"""Reordered dimensions and elements: `permute`, `flip`, `roll`, …"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.op import composite, linear
from gradcheck.autograd.ops.common.dims import canonical_dim, canonical_dims, require_integer
from gradcheck.autograd.ops.shape_casts import reshape
from gradcheck.errors import ArgumentError, ShapeMismatch


@linear(lambda g, y, x: g.T, torch="Tensor.T", latex=r"#^{\top}", samples="randn(2, 3).T; randn(0, 3).T")
def T(input: Any) -> Any:
    """The dimensions in reverse order: a matrix transposed."""
    return np.transpose(input)


@linear(
    lambda g, y, x: g.mT,
    torch="Tensor.mT",
    latex=r"#^{\top}",
    samples="randn(2, 3).mT; randn(4, 2, 3).mT; randn(2, 1, 0, 3).mT",
)
def mT(input: Any) -> Any:
    """Each matrix, in the last two dimensions, transposed."""
    return np.swapaxes(_matrices(input, "mT"), -1, -2)


@composite(torch="Tensor.H", latex=r"#^{\dagger}", samples="randn(2, 3).H")
def H(input: Any) -> Any:
    """The conjugate transpose of a matrix."""
    if input.ndim not in (0, 2):
        raise ShapeMismatch(f"H takes a matrix, not {input.ndim} dimensions", hint="for batches of matrices, use mH")
    return T(_conj(input))


@composite(torch="Tensor.mH", aliases=("adjoint",), latex=r"#^{\dagger}", samples="randn(2, 3).mH; randn(4, 2, 3).mH")
def mH(input: Any) -> Any:
    """The conjugate transpose of each matrix, in the last two dimensions."""
    return mT(_conj(_matrices(input, "mH")))


def _matrices(input: Any, name: str) -> Any:
    if input.ndim < 2:
        raise ShapeMismatch(f"{name} takes matrices, at least 2 dimensions, not {input.ndim}")
    return input


def _conj(input: Any) -> Any:
    return ops.conj(input) if input.dtype.kind == "c" else input


@composite(samples="t(randn(2, 3)); randn(3).t(); t(randn(()))")
def t(input: Any) -> Any:
    """A matrix transposed; a tensor of fewer dimensions as it is."""
    if input.ndim > 2:
        raise ShapeMismatch(f"t takes at most 2 dimensions, not {input.ndim}")
    return transpose(input, 0, 1) if input.ndim == 2 else reshape(input, input.shape)


@linear(
    lambda g, y, x, dim0, dim1: ops.transpose(g, dim0, dim1),
    aliases=("swapdims",),
    samples="transpose(randn(2, 3, 4), 0, 2); randn(2, 3, 4).transpose(-1, 1); transpose(randn(()), 0, -1)",
)
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions exchanged."""
    first, second = canonical_dim(dim0, input.ndim), canonical_dim(dim1, input.ndim)
    return np.swapaxes(input, first, second) if input.ndim else input


@composite(samples="swapaxes(randn(2, 3, 4), 0, -1)")
def swapaxes(input: Any, axis0: int, axis1: int) -> Any:
    """Two dimensions exchanged."""
    return transpose(input, axis0, axis1)


@linear(
    lambda g, y, x, dims: ops.permute(g, _inverse(dims)),
    variadic="dims",
    samples="{}(randn(2, 3, 4), (2, 0, 1)); randn(2, 3, 4).{}(1, -1, 0); {}(randn(()), ()); {}(randn(0, 3), [1, 0])",
)
def permute(input: Any, dims: Any) -> Any:
    """The dimensions in the order `dims`."""
    order = canonical_dims(dims, input.ndim)
    if len(order) != input.ndim:
        raise ShapeMismatch(f"permute: {list(dims)} does not order the dimensions of a tensor with {input.ndim}")
    return np.transpose(input, order)


def _inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    order = canonical_dims(dims, len(dims))
    return tuple(sorted(range(len(order)), key=order.__getitem__))


@linear(
    lambda g, y, x, source, destination: ops.movedim(g, destination, source),
    aliases=("moveaxis",),
    samples="""
        {}(randn(2, 3, 4), 0, -1); {}(randn(2, 3, 4), (0, 1), (-1, 0)); {}(randn(2, 3, 4), source=2, destination=0)
    """,
)
def movedim(input: Any, source: Any, destination: Any) -> Any:
    """Dimensions moved from `source` to `destination`."""
    if isinstance(source, (tuple, list)) != isinstance(destination, (tuple, list)):
        raise ArgumentError(f"movedim takes two dimensions or two lists of them, not {source} and {destination}")
    here, there = canonical_dims(source, input.ndim), canonical_dims(destination, input.ndim)
    if len(here) != len(there):
        raise ShapeMismatch(f"movedim: {len(here)} dimensions {source} to move to {len(there)} places {destination}")
    return np.moveaxis(input, here, there) if input.ndim else input


@linear(
    lambda g, y, x, dims: ops.flip(g, dims),
    variadic="dims",
    samples="flip(randn(2, 3), (0,)); randn(2, 3).flip(0, -1); flip(randn(0, 3), [1]); flip(randn(2, 3), ())",
)
def flip(input: Any, dims: Any) -> Any:
    """The elements in reverse order along `dims`."""
    order = canonical_dims(dims, input.ndim)
    return np.flip(input, order) if input.ndim else input


@composite(samples="fliplr(randn(2, 3))")
def fliplr(input: Any) -> Any:
    """The columns in reverse order."""
    if input.ndim < 2:
        raise ShapeMismatch(f"fliplr takes at least 2 dimensions, not {input.ndim}")
    return flip(input, (1,))


@composite(samples="flipud(randn(2, 3)); flipud(randn(3))")
def flipud(input: Any) -> Any:
    """The rows in reverse order."""
    if input.ndim < 1:
        raise ShapeMismatch("flipud takes at least 1 dimension, not 0")
    return flip(input, (0,))


@composite(samples="rot90(randn(2, 3)); rot90(randn(2, 3), 2); rot90(randn(2, 3, 2), -1, (1, 2))")
def rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    """Rotated by `k` quarters, from the first of `dims` to the second."""
    plane = canonical_dims(dims, input.ndim)
    if len(plane) != 2:
        raise ShapeMismatch(f"rot90 turns in a plane of 2 dimensions, not {list(dims)}")
    first, second = plane
    flipped = {0: (), 1: (second,), 2: plane, 3: (first,)}
    quarters = require_integer(k, "a number of quarters") % 4
    turned = flip(input, flipped[quarters])
    return transpose(turned, first, second) if quarters % 2 else turned


@linear(
    lambda g, y, x, shifts, dims: ops.roll(g, _negated(shifts), dims),
    samples="""
        roll(randn(2, 3), 1); roll(randn(2, 3), -1, 1); roll(randn(2, 3), shifts=(1, 2), dims=(0, -1));
        roll(randn(2, 3), (1, 1), (1, 1)); roll(randn(0, 3), 1, 0)
    """,
)
def roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    """Shifted cyclically along `dims`, or flattened."""
    listed = shifts if isinstance(shifts, (tuple, list)) else (shifts,)
    steps = tuple(require_integer(shift, "a shift") for shift in listed)
    if dims is None or dims == ():
        if len(steps) != 1:
            raise ShapeMismatch(f"roll: {len(steps)} shifts but no dimensions")
        return np.roll(input, steps[0])
    along = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if len(along) != len(steps):
        raise ShapeMismatch(f"roll: {len(steps)} shifts for {len(along)} dimensions")
    return np.roll(input, steps, tuple(canonical_dim(dim, input.ndim) for dim in along))


def _negated(shifts: Any) -> Any:
    return tuple(-s for s in shifts) if isinstance(shifts, (tuple, list)) else -shifts
