"""Subscripts of `x[…]`, interpreted as torch does.

torch first applies the integers, slices, `None` and `...` in one go, and then the index tensors and masks to what is
left. (NumPy lets an integer count as an index array, which moves dimensions: `x[0, :, idx]` differs.)
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.errors import ArgumentError

_ALL = slice(None)
_INDEX_KINDS = "biu"
_SIMPLE = frozenset({int, type(None), type(Ellipsis)})


def is_basic(index: Any) -> bool:
    """Return whether NumPy indexes like torch: no arrays, masks or bools."""
    for item in index if type(index) is tuple else (index,):
        if type(item) is slice:
            if item.step is not None and item.step <= 0:
                return False
        elif type(item) not in _SIMPLE:
            return False
    return True


def split_index(index: Any, ndim: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Split an index into a basic one, and arrays for its result, or ().

    Raises IndexError for what cannot index a tensor with `ndim` dimensions, ArgumentError for a negative step.
    """
    entries = [_entry(item) for item in (index if isinstance(index, tuple) else (index,))]
    taken = sum(_dims_used(entry) for entry in entries)
    if taken > ndim:
        raise IndexError(f"{taken} indices for a tensor with {ndim} dimensions")
    if sum(entry is Ellipsis for entry in entries) > 1:
        raise IndexError("an index can have only one ellipsis ('...')")
    basic: list[Any] = []
    advanced: list[Any] = []
    for entry in entries:
        if isinstance(entry, np.ndarray):
            basic += [_ALL] * _dims_used(entry) if entry.ndim else [None]
            advanced.append(entry if entry.ndim else np.zeros(int(entry), dtype=np.int64))
        elif entry is Ellipsis:
            basic += [_ALL] * (ndim - taken)
            advanced += [_ALL] * (ndim - taken)
        else:
            basic.append(entry)
            advanced += [] if type(entry) is int else [_ALL]
    return tuple(basic), tuple(advanced) if any(isinstance(a, np.ndarray) for a in advanced) else ()


def _entry(item: Any) -> Any:
    """Return an int, a slice, None, `...`, or an array (0-d for True)."""
    if item is None or item is Ellipsis or type(item) is int:
        return item
    if isinstance(item, slice):
        return _slice(item)
    if isinstance(item, (bool, np.bool_)):
        return np.asarray(item)
    array = np.asarray(item)
    if array.size == 0 and isinstance(item, (list, tuple)):
        array = array.astype(np.int64)
    if array.dtype.kind not in _INDEX_KINDS:
        raise IndexError(f"an index is made of integers or booleans, not of {array.dtype}")
    if array.dtype in (np.int8, np.int16):
        raise IndexError(f"an index is int64, int32 or bool, not {array.dtype}")
    if array.dtype == np.uint8:
        return array.astype(bool)  # in torch, bytes are masks
    return int(array) if array.ndim == 0 and array.dtype.kind != "b" else array


def _slice(item: slice) -> slice:
    if item.step is not None and item.step <= 0:
        raise ArgumentError(f"the step of a slice must be positive, not {item.step}", hint="use flip to reverse")
    return item


def _dims_used(entry: Any) -> int:
    """Return how many dimensions of the tensor an entry uses up."""
    if isinstance(entry, np.ndarray):
        return entry.ndim if entry.dtype.kind == "b" else 1
    return 0 if entry is None or entry is Ellipsis else 1


def result_size(shape: tuple[int, ...], index: Any) -> int:
    """Return the size of `x[index]`, an upper bound for a basic index."""
    if is_basic(index):
        return prod(shape)
    basic, advanced = split_index(index, len(shape))
    part = np.broadcast_to(np.empty((), dtype=bool), shape)[basic].shape
    if not advanced:
        return prod(part)
    positions, indices = _integer_indices(part, advanced)
    picked = np.broadcast_shapes(*(i.shape for i in indices))
    return prod(picked) * prod(int(size) for d, size in enumerate(part) if d not in positions)


def add_at(out: np.ndarray, advanced: tuple[Any, ...], values: np.ndarray) -> None:
    """Do `out[advanced] += values`, adding up repeated places."""
    arrays = [entry for entry in advanced if isinstance(entry, np.ndarray)]
    if len(arrays) == 1 and arrays[0].dtype.kind == "b":
        out[advanced] += values  # a mask names nothing twice
        return
    positions, indices = _integer_indices(out.shape, advanced)
    rest = [d for d in range(out.ndim) if d not in positions]
    target = out.transpose(positions + rest)
    picked = np.broadcast_arrays(*indices)
    count = picked[0].ndim
    first = positions[0] if positions == list(range(positions[0], positions[-1] + 1)) else 0
    source = np.moveaxis(values, range(first, first + count), range(count)) if first else values
    rows = source.reshape(picked[0].size, *target.shape[len(positions) :])
    _add_rows(target, [p.reshape(-1) for p in picked], rows)


def _integer_indices(shape: tuple[int, ...], advanced: tuple[Any, ...]) -> tuple[list[int], list[np.ndarray]]:
    """Return the indexed dimensions, and each one's indices from 0 up."""
    positions: list[int] = []
    indices: list[np.ndarray] = []
    dim = 0
    for entry in advanced:
        if isinstance(entry, np.ndarray):
            found = list(entry.nonzero()) if entry.dtype.kind == "b" else [entry]
            indices += found
            positions += range(dim, dim + len(found))
        dim += _dims_used(entry)
    wrapped = [np.where(i < 0, i + shape[d], i) for i, d in zip(indices, positions, strict=True)]
    return positions, wrapped


def _add_rows(target: np.ndarray, indices: list[np.ndarray], rows: np.ndarray) -> None:
    """Do `target[indices[0][k], …] += rows[k]` for every k, adding up repeats.

    It uses one flat index for each element, on which `np.add.at` is several times faster than on rows.
    """
    if not rows.size:
        return
    buffer = np.ascontiguousarray(target)
    place = indices[0] if len(indices) == 1 else np.ravel_multi_index(indices, target.shape[: len(indices)])
    width = rows.size // len(rows)
    if width != 1:
        place = (place[:, None] * width + np.arange(width)).reshape(-1)
    np.add.at(buffer.reshape(-1), place, rows.reshape(-1))
    if buffer is not target:
        target[...] = buffer
