"""Points inside and outside of the hull of vectors sampled on demand.

The nearest point of the hull is found by corrective steps (Wolfe, "Finding the nearest point in a polytope",
Mathematical Programming 11, 1976): the nearest point of the known vectors says in which direction a further vector
is missing. If none lies further out, that direction separates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from gradcheck.autograd.ops.common.scipy_functions import scipy_module

#: The most rounds of sampling.
MAX_ROUNDS = 48
#: In more dimensions, vectors further out may merely not have been found.
MAX_DIMENSIONS = 64
#: The most vectors at the start.
MAX_VECTORS = 128
#: So many rounds without progress show that a direction separates.
_SLOW = 2
#: Vectors with a smaller weight are dropped.
_NO_WEIGHT = 1e-9

HullSide = Literal["inside", "outside", "unknown"]


def nearest_weights(vectors: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return the convex weights of the rows that come nearest to a point.

    `vectors` has shape (m, n), `point` (n,). The weights are positive and add up to 1.
    """
    offsets = (vectors - point).T
    if offsets.shape[0] > offsets.shape[1]:  # the triangular factor has the same lengths and angles
        offsets = np.linalg.qr(offsets, mode="r")
    matrix, right = np.vstack([offsets, np.ones(offsets.shape[1])]), np.append(np.zeros(offsets.shape[0]), 1.0)
    found = scipy_module("optimize").nnls(matrix, right)[0] if np.isfinite(matrix).all() else np.zeros(len(vectors))
    total = found.sum()
    return np.asarray(found / total if total > 0 else np.full(len(vectors), 1 / len(vectors)))


def locate_in_hull(
    point: np.ndarray,
    known: Sequence[np.ndarray],
    more: Callable[[np.ndarray], Sequence[np.ndarray]],
    near: float,
    rounds: int = MAX_ROUNDS,
) -> HullSide:
    """Return whether a point is inside the hull of vectors, up to `near`.

    Args:
            known: the first vectors.
            more: returns vectors that lie far out in a direction.
    """
    vectors = [*known, *more(point - (np.min(known, axis=0) + np.max(known, axis=0)) / 2)]
    if _leaves_their_plane(point, np.array(vectors), near):
        return "outside"
    beyond = _excess(point, np.array(vectors))
    if np.any(np.abs(beyond) > 4 * near):  # look for vectors further out in the outermost entry
        entry = np.where(np.arange(point.size) == np.argmax(np.abs(beyond)), np.sign(beyond), 0.0)
        vectors += more(entry)
        if np.any(np.abs(_excess(point, np.array(vectors)) * entry) > 4 * near):
            return "outside"
    if np.any(np.all(np.abs(np.array(vectors) - point) <= near, axis=1)):
        return "inside"
    return _locate_by_nearest(point, _distinct(vectors, near), more, near, rounds)


def _locate_by_nearest(
    point: np.ndarray,
    vectors: list[np.ndarray],
    more: Callable[[np.ndarray], Sequence[np.ndarray]],
    near: float,
    rounds: int,
) -> HullSide:
    slow = 0
    for _ in range(rounds):
        rows = np.array(vectors)
        shares = nearest_weights(rows, point)
        nearest = shares @ rows
        gap = point - nearest
        if np.all(np.abs(gap) <= near):
            return "inside"
        length = float(np.linalg.norm(gap))
        further = [(float(gap @ (one - nearest)), one) for one in more(gap)]
        found = [one for gain, one in further if gain > near * length]
        slow = slow + 1 if all(gain <= length**2 / 2 for gain, _ in further) else 0
        if not found or slow == _SLOW:  # no vector comes half as far as the point
            return "outside" if point.size <= MAX_DIMENSIONS else "unknown"
        vectors = [one for one, share in zip(vectors, shares, strict=True) if share > _NO_WEIGHT] + found
    return "unknown"


def _distinct(vectors: Sequence[np.ndarray], near: float) -> list[np.ndarray]:
    """Drop vectors that equal another up to rounding; keep MAX_VECTORS."""
    alike = {np.round(one / near).tobytes(): one for one in reversed(vectors)}
    return list(alike.values())[-MAX_VECTORS:]


def _excess(point: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return how far each entry lies above all vectors, or below all."""
    return np.asarray(np.maximum(point - vectors.max(axis=0), 0) + np.minimum(point - vectors.min(axis=0), 0))


def _leaves_their_plane(point: np.ndarray, vectors: np.ndarray, near: float) -> bool:
    """Return whether all vectors have one sum, and the point another."""
    sums, total = vectors.sum(axis=1), float(point.sum())
    room = near * max(1.0, float(np.abs(vectors).sum(axis=1).max()))
    return bool(np.ptp(sums) <= room and abs(total - sums[0]) > 2 * room)
