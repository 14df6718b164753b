"""Numbers with a structure that random draws rarely have: equal, sorted, …

Conditions on many numbers at once (`t == t[0]`, `(x[1:] > x[:-1]).all()`, `x.argmax() == 0`) have other results at such
numbers. The support stays: bounded draws are rearranged and repeated, permutations only rearranged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from ml_dtypes import finfo

from gradcheck.autograd.dtypes import real_of
from gradcheck.autograd.exactness import DIGITS

Structure = Literal[
    "lowest", "highest", "ascending", "alternating", "close", "tiny", "huge",
    "descending", "equal", "mirrored", "counting", "whole", "unit", "zero", "far", "within", "share", "beyond",
]  # fmt: skip
#: Structures for every case; their numbers are distinct unless few values can be drawn.
DISTINCT_STRUCTURES: tuple[Structure, ...] = ("lowest", "highest", "ascending", "alternating", "close", "tiny", "huge")
STRUCTURES: tuple[Structure, ...] = (
    *DISTINCT_STRUCTURES, "descending", "equal", "mirrored", "counting", "whole", "unit", "zero",
)  # fmt: skip
#: Structures that lie in the domain of most graphs, at least one of them.
DOMAIN_STRUCTURES: tuple[Structure, ...] = ("highest", "within", "share", "beyond", "lowest")
#: Creators without bounds.
_UNBOUNDED = frozenset(("randn", "randn_like", "normal"))
#: The relative distance of almost equal numbers.
_CLOSE_DISTANCE = 1e-8
#: The factors of tiny and of huge numbers.
_TINY_FACTOR, _HUGE_FACTOR = 1e-6, 12.0
#: Far numbers are this multiple of the largest number with a finite exponential.
_FAR_FACTOR = 1.05
#: The distance from the end of a range, as a part of it.
_END_DISTANCE = 1e-3


def structure_creator(op: str, array: np.ndarray, args: Sequence[Any], structure: Structure) -> np.ndarray:
    """Return an array made by a random creator, with a structure."""
    if op == "randperm":
        return _rearranged(array, structure)
    if op in ("randint", "randint_like") and array.size:
        first = int(op.endswith("_like"))
        bounds = [int(np.asarray(a)) for a in args[first : first + 2] if np.ndim(a) == 0]
        low, high = (0, bounds[0]) if len(bounds) == 1 else bounds if len(bounds) == 2 else (array.min(), array.max())
        return _whole(array, int(low), int(high) - 1, structure)
    return apply_structure(array, structure, is_bounded=op not in _UNBOUNDED)


def apply_structure(array: np.ndarray, structure: Structure, is_bounded: bool = False) -> np.ndarray:
    """Return the array with a structure; if bounded, between its extremes."""
    if not array.size:
        return array
    if array.dtype.kind in "biu":
        return _whole(array, int(array.min()), int(array.max()), structure)
    if structure in _SHAPED:
        made = np.asarray(_SHAPED[structure](array)).reshape(array.shape).astype(array.dtype)
        return np.asarray(np.clip(made, array.min(), array.max())) if is_bounded else made
    if is_bounded and structure in ("lowest", "highest") and array.dtype.kind == "f":
        return _at_an_end(array, structure)
    if array.dtype.kind == "c" or is_bounded or structure not in _SIGNED:
        return _rearranged(array, structure)
    return np.asarray(_SIGNED[structure](array)).reshape(array.shape).astype(array.dtype)


def _at_an_end(array: np.ndarray, structure: Structure) -> np.ndarray:
    """Return distinct numbers near the smallest, or the largest, number."""
    low, high = float(array.min()), float(array.max())
    inwards = _END_DISTANCE * (high - low) * np.arange(array.size).reshape(array.shape) / array.size
    return np.asarray(low + inwards if structure == "lowest" else high - inwards).astype(array.dtype)


def _rearranged(array: np.ndarray, structure: Structure) -> np.ndarray:
    """Return the numbers in ascending or descending order, or unchanged."""
    if structure not in ("ascending", "descending") or array.dtype.kind == "c":
        return array
    order = np.sort(array, axis=None)
    return np.asarray(order if structure == "ascending" else order[::-1]).reshape(array.shape)


def _whole(array: np.ndarray, low: int, high: int, structure: Structure) -> np.ndarray:
    places = np.arange(array.size).reshape(array.shape)
    made: Mapping[str, Any] = {
        "equal": array.flat[0],
        "lowest": low,
        "highest": high,
        "alternating": np.where(places % 2 == 0, low, high),
        "counting": low + places % (high - low + 1),
    }
    if structure in made:
        return np.broadcast_to(np.asarray(made[structure]), array.shape).astype(array.dtype)
    return _rearranged(array, structure)


def _close(array: np.ndarray) -> np.ndarray:
    """Return the array, every second number almost equal to the one before."""
    flat = array.ravel().copy()
    pairs = flat[: 2 * (flat.size // 2)].reshape(-1, 2)
    nearest = 2.0 ** (3 - DIGITS.get(real_of(array.dtype), 53))
    pairs[:, 1] = pairs[:, 0] * np.asarray(1 - max(_CLOSE_DISTANCE, nearest), array.dtype)
    return flat


def _unit(array: np.ndarray) -> np.ndarray:
    """Return a unit upper triangular matrix of integers; ones for a vector."""
    if array.ndim < 2:
        return np.ones(array.shape)
    ones = np.broadcast_to(np.eye(*array.shape[-2:]), array.shape)
    return np.asarray(ones + np.triu(np.rint(array.real), 1))


def _far(array: np.ndarray) -> np.ndarray:
    """Return numbers of the same signs whose exponentials overflow."""
    largest = np.log(float(finfo(array.dtype).max))  # type: ignore[no-untyped-call]
    return np.asarray(np.sign(array) * _FAR_FACTOR * largest * (1 + 0.2 * np.tanh(np.abs(array))))


_SHAPED: Mapping[str, Any] = {"equal": lambda a: np.broadcast_to(a.flat[0], a.shape), "close": _close}
_SIGNED: Mapping[str, Any] = {
    "lowest": lambda a: -np.abs(a),
    "highest": np.abs,
    "alternating": lambda a: np.abs(a).ravel() * np.resize((1.0, -1.0), a.size),
    "mirrored": lambda a: max(1.0, np.rint(np.abs(a.flat[0]))) * np.resize((1.0, -1.0), a.size),
    "whole": np.rint,
    "unit": _unit,
    "zero": np.zeros_like,
    "tiny": lambda a: _TINY_FACTOR * a,
    "huge": lambda a: _HUGE_FACTOR * a,
    "far": _far,
    "within": lambda a: a / (1 + np.abs(a)),
    "share": lambda a: np.abs(a) / (1 + np.abs(a)),
    "beyond": lambda a: 1 + np.abs(a),
}
