"""The convex hull of vectors of which more can be asked for: the point of it nearest to another, and who lies outside.

The nearest point is found by corrective steps (Wolfe, "Finding the nearest point in a polytope", Mathematical
Programming 11, 1976): the nearest point of the vectors known so far says in which direction a further one is missing,
and that is asked for. Where none is further out in that direction than the nearest point, it separates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

#: How often further vectors are asked for before nobody knows.
MAX_ROUNDS = 48
#: In more dimensions than this nobody can tell whether vectors that are further out have merely not been found.
MAX_DIMENSIONS = 64
#: So many vectors are begun with.
MAX_VECTORS = 128
#: So many rounds in a row are to show that a direction separates.
_SLOW = 2
#: Gaps below this part of a direction's length are rounding, and all that are smaller than this.
_NO_GAP, _ROUNDING = 1e-9, 1e-15

HullSide = Literal["inside", "outside", "unknown"]


def nearest_weights(vectors: np.ndarray, point: np.ndarray) -> np.ndarray:
    """The weights, positive and adding up to 1, with which the rows of `vectors` (m, n) come nearest to a point (n)."""
    offsets = (vectors - point).T
    if offsets.shape[0] > offsets.shape[1]:  # lengths and angles are those of the triangular factor
        offsets = np.linalg.qr(offsets, mode="r")
    matrix = np.vstack([offsets, np.ones(offsets.shape[1])])
    found = _nonnegative_least_squares(matrix, np.append(np.zeros(offsets.shape[0]), 1.0))
    total = found.sum()
    return found / total if total > 0 else np.full(len(vectors), 1 / len(vectors))


def _nonnegative_least_squares(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Least squares with no negative unknown (Lawson and Hanson, Solving Least Squares Problems, 23, 1974)."""
    size = matrix.shape[1]
    found, chosen = np.zeros(size), np.zeros(size, dtype=bool)
    for _ in range(3 * size):
        rest = right - matrix @ found
        slope = matrix.T @ rest
        slope[chosen] = -np.inf
        best = int(np.argmax(slope))
        no_gap = max(_NO_GAP * float(np.linalg.norm(rest)), _ROUNDING)
        if not slope[best] > no_gap * np.linalg.norm(matrix[:, best]):
            break
        chosen[best] = True
        found = _within(matrix, right, found, chosen)
    return found


def _within(matrix: np.ndarray, right: np.ndarray, found: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The least squares of the `chosen` unknowns, those that would become negative given up."""
    while chosen.any():
        aim = np.zeros_like(found)
        aim[chosen] = _least_squares(matrix[:, chosen], right)
        below = chosen & (aim <= 0)
        if not below.any():
            return aim
        part = np.min(found[below] / np.maximum(found[below] - aim[below], np.finfo(float).tiny))
        found = found + part * (aim - found)
        chosen &= found > 1e-15
        found = np.where(chosen, found, 0.0)
        chosen &= ~(below & (found <= 1e-15))
    return found


def _least_squares(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """By triangular factors, a tenth of the time of singular values, which those need that depend on each other."""
    factor, triangle = np.linalg.qr(matrix)
    diagonal = np.abs(np.diag(triangle))
    if len(triangle) == matrix.shape[1] and diagonal.min() > 1e-10 * diagonal.max():
        return np.asarray(np.linalg.solve(triangle, factor.T @ right))
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])


def locate_in_hull(
    point: np.ndarray,
    known: Sequence[np.ndarray],
    more: Callable[[np.ndarray], Sequence[np.ndarray]],
    near: float,
    rounds: int = MAX_ROUNDS,
) -> HullSide:
    """Where a point lies: inside, up to `near` in every entry, or outside of the hull of what is `known` and of what
    `more` gives for a direction, which should be vectors that are far out in it."""
    vectors = [*known, *more(point - (np.min(known, axis=0) + np.max(known, axis=0)) / 2)]
    if _leaves_their_plane(point, np.array(vectors), near):
        return "outside"
    beyond = _excess(point, np.array(vectors))
    if np.any(np.abs(beyond) > 4 * near):  # in the entry that is furthest out, is there nothing further?
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
    """Where it lies, by the nearest point of the hull."""
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
        if not found or slow == _SLOW:  # nothing that was found comes half as far as the point
            return "outside" if point.size <= MAX_DIMENSIONS else "unknown"
        vectors = [one for one, share in zip(vectors, shares, strict=True) if share > _NO_GAP] + found
    return "unknown"


def _distinct(vectors: Sequence[np.ndarray], near: float) -> list[np.ndarray]:
    """The first of those that are the same, up to rounding, and no more than are affordable."""
    alike = {np.round(one / near).tobytes(): one for one in reversed(vectors)}
    return list(alike.values())[-MAX_VECTORS:]


def _excess(point: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """By how much each entry of a point is above the highest, or below the lowest, of the vectors."""
    return np.asarray(np.maximum(point - vectors.max(axis=0), 0) + np.minimum(point - vectors.min(axis=0), 0))


def _leaves_their_plane(point: np.ndarray, vectors: np.ndarray, near: float) -> bool:
    """Whether all vectors add up to the same, and the point does not: so it is at ties, of which each takes a share."""
    sums, total = vectors.sum(axis=1), float(point.sum())
    room = near * max(1.0, float(np.abs(vectors).sum(axis=1).max()))
    return bool(np.ptp(sums) <= room and abs(total - sums[0]) > 2 * room)
