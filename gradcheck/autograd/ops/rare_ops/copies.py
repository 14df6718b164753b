"""torch's other names for what views a tensor: those that copy (`expand_copy`), those that do not check
(`unsafe_split`), and those that undo what is not done here (`resolve_conj`). Each is the op that it is named after.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.op import composite
from gradcheck.autograd.ops.common.dims import require_integer
from gradcheck.autograd.ops.expansion import expand
from gradcheck.autograd.ops.indexing import narrow
from gradcheck.autograd.ops.join_split import split, unbind
from gradcheck.errors import ArgumentError, ShapeMismatch


@composite(samples="resolve_conj(complex(randn(3), randn(3))); randn(2).resolve_conj()")
def resolve_conj(input: Any) -> Any:
    """`input`: a conjugate is always written out here."""
    return ops.clone(input)


@composite(samples="resolve_neg(randn(3))")
def resolve_neg(input: Any) -> Any:
    """`input`: a negative is always written out here."""
    return ops.clone(input)


@composite(torch="", samples="randn(3).chalf(); complex(randn(3), randn(3)).chalf()")
def chalf(input: Any) -> Any:
    """Both parts rounded to half precision; in complex64, as NumPy has no complex numbers of half precision."""
    parts = (ops.real(input), ops.imag(input)) if input.dtype.kind == "c" else (input, ops.zeros_like(input))
    halves = (ops.to(part, np.dtype(np.float16)) for part in parts)
    return ops.complex(*(ops.to(half, np.dtype(np.float32)) for half in halves))


@composite(method=False, samples="alias_copy(randn(2, 3))")
def alias_copy(input: Any) -> Any:
    """A copy."""
    return ops.clone(input)


@composite(method=False, samples="expand_copy(randn(3, 1), (2, 3, 4)); expand_copy(randn(3), (-1,))")
def expand_copy(input: Any, size: Any, *, implicit: bool = False) -> Any:
    """A copy of `expand`."""
    return expand(input, tuple(size))


@composite(method=False, samples="view_copy(randn(2, 3), (3, -1)); view_copy(randn(2, 3), [6])")
def view_copy(input: Any, size: Any) -> Any:
    """A copy of `view`."""
    return ops.view(input, tuple(size)) if isinstance(size, (tuple, list)) else ops.to(input, size)


@composite(method=False, samples="permute_copy(randn(2, 3, 4), (2, 0, 1))")
def permute_copy(input: Any, dims: Any) -> Any:
    """A copy of `permute`."""
    return ops.permute(input, tuple(dims))


@composite(method=False, samples="transpose_copy(randn(2, 3), 0, 1)")
def transpose_copy(input: Any, dim0: int, dim1: int) -> Any:
    """A copy of `transpose`."""
    return ops.transpose(input, dim0, dim1)


@composite(method=False, samples="t_copy(randn(2, 3)); t_copy(randn(3))")
def t_copy(input: Any) -> Any:
    """A copy of `t`."""
    return ops.t(input)


@composite(method=False, samples="squeeze_copy(randn(1, 3, 1)); squeeze_copy(randn(1, 3, 1), 0)")
def squeeze_copy(input: Any, dim: Any = None) -> Any:
    """A copy of `squeeze`."""
    return ops.squeeze(input) if dim is None else ops.squeeze(input, dim)


@composite(method=False, samples="unsqueeze_copy(randn(2, 3), 1)")
def unsqueeze_copy(input: Any, dim: int) -> Any:
    """A copy of `unsqueeze`."""
    return ops.unsqueeze(input, dim)


@composite(method=False, samples="diagonal_copy(randn(3, 3)); diagonal_copy(randn(2, 3, 4), 1, 1, 2)")
def diagonal_copy(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A copy of `diagonal`."""
    return ops.diagonal(input, offset, dim1, dim2)


@composite(method=False, samples="unbind_copy(randn(3, 2)); unbind_copy(randn(3, 2), 1)")
def unbind_copy(input: Any, dim: int = 0) -> Any:
    """Copies of what `unbind` gives."""
    return unbind(input, dim)


@composite(samples="narrow_copy(randn(2, 5), 1, 1, 3); randn(4).narrow_copy(0, -3, 2)")
def narrow_copy(input: Any, dim: int, start: int, length: int) -> Any:
    """A copy of `narrow`."""
    return narrow(input, dim, start, length)


@composite(method=False, samples="select_copy(randn(2, 3), 1, 0); select_copy(randn(2, 3), -2, -1)")
def select_copy(input: Any, dim: int, index: int) -> Any:
    """A copy of `select`."""
    return ops.select(input, dim, index)


@composite(
    method=False,
    samples="slice_copy(randn(2, 5), 1, 1, 4, 2); slice_copy(randn(3)); slice_copy(randn(2, 5), -1, -3)",
)
def slice_copy(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """A copy of `slice`."""
    return ops.slice(input, dim, start, end, step)


@composite(method=False, samples="view_as_real_copy(complex(randn(2), randn(2)))")
def view_as_real_copy(input: Any) -> Any:
    """A copy of `view_as_real`."""
    return ops.view_as_real(input)


# Pieces ----------------------------------------------------------------------------------------------


@composite(samples="unsafe_chunk(randn(5, 2), 2); unsafe_chunk(randn(2, 5), 3, 1)")
def unsafe_chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    """`chunk`."""
    return ops.chunk(input, chunks, dim)


@composite(samples="unsafe_split(randn(5, 2), 2); unsafe_split(randn(2, 5), 3, dim=1)")
def unsafe_split(tensor: Any, split_size: int, dim: int = 0) -> Any:
    """`split` into pieces of one size."""
    return split(tensor, require_integer(split_size, "a size"), dim)


@composite(samples="split_with_sizes(randn(5), [2, 3]); randn(2, 5).split_with_sizes((1, 4), 1)")
def split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> Any:
    """`split` into pieces of these sizes."""
    return split(input, list(split_sizes), dim)


@composite(method=False, samples="split_with_sizes_copy(randn(5), [2, 3])")
def split_with_sizes_copy(input: Any, split_sizes: Any, dim: int = 0) -> Any:
    """Copies of what `split_with_sizes` gives."""
    return split(input, list(split_sizes), dim)


@composite(samples="unsafe_split_with_sizes(randn(5), [2, 3]); unsafe_split_with_sizes(randn(2, 5), (1, 4), 1)")
def unsafe_split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> Any:
    """`split_with_sizes`."""
    return split(input, list(split_sizes), dim)


@composite(method=False, samples="split_copy(randn(5, 2), 2); split_copy(randn(2, 5), 3, 1)")
def split_copy(tensor: Any, split_size: int, dim: int = 0) -> Any:
    """Copies of what `split` gives, in pieces of one size."""
    return split(tensor, require_integer(split_size, "a size"), dim)


def _split_along(name: str, input: Any, sections: Any, dim: int, least: int) -> Any:
    if input.ndim < least:
        raise ShapeMismatch(f"{name} takes at least {least} dimensions, not {input.ndim}")
    if not isinstance(sections, (tuple, list)) and input.shape[dim] % require_integer(
        sections, "the number of sections"
    ):
        raise ShapeMismatch(f"{name}: {input.shape[dim]} elements do not part into {sections} equal sections")
    return ops.tensor_split(input, sections, dim)


@composite(samples="hsplit(randn(2, 4), 2); hsplit(randn(4), [1, 3])")
def hsplit(input: Any, indices_or_sections: Any) -> Any:
    """Pieces along dimension 1, or 0 of a vector: so many equal ones, or those that begin at the indices."""
    return _split_along("hsplit", input, indices_or_sections, 1 if input.ndim > 1 else 0, 1)


@composite(samples="vsplit(randn(4, 2), 2); vsplit(randn(4, 2), [1, 3])")
def vsplit(input: Any, indices_or_sections: Any) -> Any:
    """Pieces along dimension 0: so many equal ones, or those that begin at the indices."""
    return _split_along("vsplit", input, indices_or_sections, 0, 2)


@composite(samples="dsplit(randn(2, 2, 4), 2); dsplit(randn(2, 2, 4), [1, 3])")
def dsplit(input: Any, indices_or_sections: Any) -> Any:
    """Pieces along dimension 2: so many equal ones, or those that begin at the indices."""
    return _split_along("dsplit", input, indices_or_sections, 2, 3)


# Several at once -------------------------------------------------------------------------------------


def _common_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that all are broadcast to, made of their own sizes. Raises ShapeMismatch."""
    shape: list[int] = []
    for other in shapes:
        longest = max(len(shape), len(other))
        pairs = zip([1] * (longest - len(shape)) + shape, [1] * (longest - len(other)) + list(other), strict=True)
        found = [(a, b) for a, b in pairs]
        if any(a != b and 1 not in (a, b) for a, b in found):
            raise ShapeMismatch(f"shapes {' and '.join(str(list(s)) for s in shapes)} cannot be broadcast together")
        shape = [b if a == 1 else a for a, b in found]
    return tuple(shape)


@composite(
    variadic="tensors", method=False, samples="broadcast_tensors(randn(3), randn(2, 1)); broadcast_tensors(randn(2))"
)
def broadcast_tensors(tensors: Any) -> Any:
    """The tensors, all broadcast to one shape."""
    shape = _common_shape([tuple(tensor.shape) for tensor in tensors])
    return tuple(expand(tensor, shape) for tensor in tensors)


@composite(
    variadic="tensors",
    method=False,
    samples="meshgrid(randn(2), randn(3), indexing='ij'); meshgrid([randn(2), randn(())])",
    elements=lambda tensors, indexing: prod(int(prod(t.shape)) for t in tensors) * len(tensors),
)
def meshgrid(tensors: Any, *, indexing: str | None = None) -> Any:
    """Each vector spread over a grid of all: along its own dimension ("ij"), the first two swapped for "xy"."""
    if indexing not in (None, "ij", "xy"):
        raise ArgumentError(f"meshgrid has no indexing {indexing!r}", hint="expected 'ij' or 'xy'")
    if any(tensor.ndim > 1 for tensor in tensors):
        raise ShapeMismatch("meshgrid takes vectors and numbers")
    lines = [ops.reshape(tensor, (-1,)) if not tensor.ndim else tensor for tensor in tensors]
    order = list(range(len(lines)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    shape = [lines[i].shape[0] for i in order]
    along = [[-1 if i == j else 1 for j in order] for i in range(len(lines))]
    return tuple(
        expand(ops.reshape(x, [x.shape[0] if n < 0 else n for n in a]), shape)
        for x, a in zip(lines, along, strict=True)
    )
