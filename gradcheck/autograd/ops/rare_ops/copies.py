"""torch's copying, unchecked and resolving variants of other ops."""

from __future__ import annotations

from functools import wraps
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.op import Op, composite
from gradcheck.autograd.ops.common.dims import own_broadcast_shape, require_integer
from gradcheck.autograd.ops.expansion import expand
from gradcheck.autograd.ops.join_split import split
from gradcheck.errors import ArgumentError, ShapeMismatch


def _rename(name: str, original: Op, doc: str, samples: str, **traits: Any) -> None:
    """Enter `original` under another name, with its parameters."""

    @composite(name=name, doc=doc, samples=samples, elements=original.elements, **traits)
    @wraps(original.forward, assigned=())
    def renamed(*args: Any) -> Any:
        return original(*args)


def _copy(name: str, samples: str) -> None:
    _rename(f"{name}_copy", getattr(ops, name), f"A copy of `{name}`.", samples, method=name == "narrow")


_CONJ = "resolve_conj(complex(randn(3), randn(3))); randn(2).resolve_conj()"
_rename("resolve_conj", ops.clone, "`input`: a conjugate is always written out here.", _CONJ)
_rename("resolve_neg", ops.clone, "`input`: a negative is always written out here.", "resolve_neg(randn(3))")
_rename("alias_copy", ops.clone, "A copy.", "alias_copy(randn(2, 3))", method=False)
_copy("permute", "permute_copy(randn(2, 3, 4), (2, 0, 1))")
_copy("transpose", "transpose_copy(randn(2, 3), 0, 1)")
_copy("t", "t_copy(randn(2, 3)); t_copy(randn(3))")
_copy("squeeze", "squeeze_copy(randn(1, 3, 1)); squeeze_copy(randn(1, 3, 1), 0)")
_copy("unsqueeze", "unsqueeze_copy(randn(2, 3), 1)")
_copy("diagonal", "diagonal_copy(randn(3, 3)); diagonal_copy(randn(2, 3, 4), 1, 1, 2)")
_copy("unbind", "unbind_copy(randn(3, 2)); unbind_copy(randn(3, 2), 1)")
_copy("narrow", "narrow_copy(randn(2, 5), 1, 1, 3); randn(4).narrow_copy(0, -3, 2)")
_copy("select", "select_copy(randn(2, 3), 1, 0); select_copy(randn(2, 3), -2, -1)")
_copy("view_as_real", "view_as_real_copy(complex(randn(2), randn(2)))")
_copy("unfold", "unfold_copy(randn(5), 0, 2, 1)")
_copy("as_strided", "{}(randn(3, 3), (2, 2), (1, 2)); {}(randn(6), [2, 3], [1, 1], 1); {}(randn(4), (), (), 2)")
_CHUNK = "unsafe_chunk(randn(5, 2), 2); unsafe_chunk(randn(2, 5), 3, 1)"
_rename("unsafe_chunk", ops.chunk, "`chunk`.", _CHUNK)


@composite(torch="", samples="randn(3).chalf(); complex(randn(3), randn(3)).chalf()")
def chalf(input: Any) -> Any:
    """Both parts rounded to half precision, in complex64."""
    parts = (ops.real(input), ops.imag(input)) if input.dtype.kind == "c" else (input, ops.zeros_like(input))
    halves = (ops.to(part, np.dtype(np.float16)) for part in parts)
    return ops.complex(*(ops.to(half, np.dtype(np.float32)) for half in halves))


@composite(method=False, samples="expand_copy(randn(3, 1), (2, 3, 4)); expand_copy(randn(3), (-1,))")
def expand_copy(input: Any, size: Any, *, implicit: bool = False) -> Any:
    """A copy of `expand`."""
    return expand(input, tuple(size))


@composite(method=False, samples="view_copy(randn(2, 3), (3, -1)); view_copy(randn(2, 3), [6])")
def view_copy(input: Any, size: Any) -> Any:
    """A copy of `view`."""
    return ops.view(input, tuple(size)) if isinstance(size, (tuple, list)) else ops.to(input, size)


@composite(
    method=False,
    samples="slice_copy(randn(2, 5), 1, 1, 4, 2); slice_copy(randn(3)); slice_copy(randn(2, 5), -1, -3)",
)
def slice_copy(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """A copy of `slice`."""
    return ops.slice(input, dim, start, end, step)


# Pieces ----------------------------------------------------------------------------------------------


@composite(samples="unsafe_split(randn(5, 2), 2); unsafe_split(randn(2, 5), 3, dim=1)")
def unsafe_split(tensor: Any, split_size: int, dim: int = 0) -> Any:
    """`split` into pieces of one size."""
    return split(tensor, require_integer(split_size, "a size"), dim)


@composite(samples="split_with_sizes(randn(5), [2, 3]); randn(2, 5).split_with_sizes((1, 4), 1)")
def split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> Any:
    """`split` into pieces of these sizes."""
    return split(input, list(split_sizes), dim)


_SIZES = "unsafe_split_with_sizes(randn(5), [2, 3]); unsafe_split_with_sizes(randn(2, 5), (1, 4), 1)"
_rename("unsafe_split_with_sizes", split_with_sizes, "`split_with_sizes`.", _SIZES)
_copy("split_with_sizes", "split_with_sizes_copy(randn(5), [2, 3])")
_SPLIT = "split_copy(randn(5, 2), 2); split_copy(randn(2, 5), 3, 1)"
_rename("split_copy", unsafe_split, "A copy of `split`, in pieces of one size.", _SPLIT, method=False)


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
    """Equal pieces along dimension 1 (0 of a vector), or at the indices."""
    return _split_along("hsplit", input, indices_or_sections, 1 if input.ndim > 1 else 0, 1)


@composite(samples="vsplit(randn(4, 2), 2); vsplit(randn(4, 2), [1, 3])")
def vsplit(input: Any, indices_or_sections: Any) -> Any:
    """Equal pieces along dimension 0, or split at the indices."""
    return _split_along("vsplit", input, indices_or_sections, 0, 2)


@composite(samples="dsplit(randn(2, 2, 4), 2); dsplit(randn(2, 2, 4), [1, 3])")
def dsplit(input: Any, indices_or_sections: Any) -> Any:
    """Equal pieces along dimension 2, or split at the indices."""
    return _split_along("dsplit", input, indices_or_sections, 2, 3)


# Several at once -------------------------------------------------------------------------------------


@composite(
    variadic="tensors", method=False, samples="broadcast_tensors(randn(3), randn(2, 1)); broadcast_tensors(randn(2))"
)
def broadcast_tensors(tensors: Any) -> Any:
    """The tensors, all broadcast to one shape."""
    shape = own_broadcast_shape("broadcast_tensors", *(tuple(tensor.shape) for tensor in tensors))
    return tuple(expand(tensor, shape) for tensor in tensors)


@composite(
    variadic="tensors",
    method=False,
    samples="meshgrid(randn(2), randn(3), indexing='ij'); meshgrid([randn(2), randn(())])",
    elements=lambda tensors, indexing: prod(int(prod(t.shape)) for t in tensors) * len(tensors),
)
def meshgrid(tensors: Any, *, indexing: str | None = None) -> Any:
    """Vectors spread over a grid, along their own dimensions ("ij" or "xy")."""
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
