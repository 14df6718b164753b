"""Subgradients of all tensors at once, and which claims lie among them.

At a kink they are the convex hull of the gradients around it (Clarke, "Generalized gradients and applications",
Transactions of the AMS 205, 1975). Claims about several tensors are judged together. Sampling whole gradients costs
little more for many elements at kinks than for one. Two claims inside differ in convention; one outside fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from gradcheck.autograd.ops.common.scipy_functions import scipy_module
from gradcheck.checks.failures.nearby_gradients import NearbyGradients

#: Pairs of opposite points that are sampled first.
_PAIRS = 4
#: Random pairs for each disputed element, up to how many elements, and the most pairs.
_PAIRS_OF_EACH, _FEW, _MOST_PAIRS = 4, 16, 48
#: At this part of the distance a jump keeps at least this part of its height; a steep slope does not.
_CLOSER, _STAYS = 0.25, 0.5
#: A jump exceeds this many times the points' distance, relative to the gradient, or in low precision this part.
_JUMP, _MAX_JUMP = 256.0, 0.125
#: The most elements that are moved alone.
_ALONE = 512

Arrays = Mapping[str, np.ndarray]
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


class _GradientSamples:
    """Flat gradients, and the range of each element."""

    def __init__(self, size: int) -> None:
        self.rows: list[np.ndarray] = []
        self.low, self.high = np.full(size, np.inf), np.full(size, -np.inf)

    def add(self, row: np.ndarray | None) -> None:
        if row is not None:
            self.rows.append(row)
            self.low, self.high = np.minimum(self.low, row), np.maximum(self.high, row)


class Subgradients:
    """The known subgradients of some tensors together."""

    def __init__(self, nearby: NearbyGradients, tensors: Arrays) -> None:
        self.nearby = nearby
        self.shapes = {name: array.shape for name, array in tensors.items()}
        ends = np.cumsum([array.size for array in tensors.values()])
        self._spans = {n: slice(end - a.size, end) for (n, a), end in zip(tensors.items(), ends.tolist(), strict=True)}
        size = int(ends[-1])
        self._samples = _GradientSamples(size)
        self._far, self._closer = _GradientSamples(size), _GradientSamples(size)  # in pairs, at two distances
        self._unrefined_moves: list[Arrays] = []  # moves that were not sampled closer
        self._places: dict[tuple[bytes, ...], HullSide] = {}
        self._has_sampled_randomly = False
        for _ in range(_PAIRS):
            self._sample_pair(nearby.random_direction())

    @property
    def are_known(self) -> bool:
        """True if there are gradients nearby."""
        return len(self._far.rows) >= _PAIRS

    def _sample_pair(self, direction: Arrays) -> None:
        moves = self.nearby.moves(direction)
        for part in (1.0, -1.0):
            row = self._sample_row(moves, part)
            self._samples.add(row)
            self._far.add(row)
        self._unrefined_moves.append(moves)

    def _sample_row(self, moves: Arrays, part: float) -> np.ndarray | None:
        gradients = self.nearby.gradients({name: part * move for name, move in moves.items()})
        return None if gradients is None else self._row(gradients)

    def _row(self, gradients: Arrays) -> np.ndarray | None:
        if any(name not in gradients or gradients[name].shape != shape for name, shape in self.shapes.items()):
            return None
        row = np.concatenate([gradients[name].ravel().real for name in self.shapes])
        return row if np.all(np.isfinite(row)) else None

    def _parts(self, row: np.ndarray) -> dict[str, np.ndarray]:
        return {name: row[span].reshape(self.shapes[name]) for name, span in self._spans.items()}

    @property
    def jump(self) -> float:
        """The smallest jump of a gradient of size 1."""
        return min(_JUMP * self.nearby.distance, _MAX_JUMP)

    def spread(self, tensor: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and highest number of each element of a tensor, flat."""
        span = self._spans[tensor]
        return self._samples.low[span], self._samples.high[span]

    def _kinked(self) -> np.ndarray:
        far, closer = self._far, self._closer
        apart = far.high - far.low
        jumps = apart > self.jump * np.maximum(np.abs(far.low), np.abs(far.high))
        if jumps.any():
            for moves in self._unrefined_moves:
                for part in (_CLOSER, -_CLOSER):
                    self._closer.add(self._sample_row(moves, part))
            self._unrefined_moves.clear()
        are_known = len(closer.rows) >= _PAIRS
        return np.asarray(jumps & are_known & (closer.high - closer.low >= _STAYS * apart))

    def all_kinked(self, tensor: str, elements: np.ndarray) -> bool | None:
        """Return whether all these elements jump, moved alone; None if too many."""
        for _ in range(_ALONE):
            smooth = elements[~self._kinked()[self._spans[tensor]][elements]]
            if not smooth.size:
                return True
            if tensor not in self.nearby.movable:
                return False
            direction = np.zeros(self.shapes[tensor])
            direction.flat[smooth[0]] = 1.0
            self._sample_pair({tensor: direction})
            if not self._kinked()[self._spans[tensor]][smooth[0]] and not self._sample_randomly(elements.size):
                return False
        return None

    def _sample_randomly(self, count: int) -> bool:
        """Sample random directions, once, if few elements differ.

        Moving each alone does not show which of several equal numbers is the median.
        """
        if self._has_sampled_randomly or count > _FEW or not self._kinked().any():
            return False
        self._has_sampled_randomly = True
        for _ in range(min(_MOST_PAIRS, _PAIRS_OF_EACH * count)):
            self._sample_pair(self.nearby.random_direction())
        return True

    def locate(self, claims: Arrays, rounds: int = MAX_ROUNDS) -> HullSide:
        """Return whether a claim is inside, in its elements that jump."""
        key = tuple(part for name, claim in claims.items() for part in (name.encode(), claim.tobytes()))
        if key not in self._places:
            row, chosen = np.zeros(self._far.low.size), np.zeros(self._far.low.size, dtype=bool)
            for name, claim in claims.items():
                row[self._spans[name]], chosen[self._spans[name]] = claim.ravel(), True
            chosen &= self._kinked()
            self._places[key] = self._locate(row, chosen, rounds) if np.all(np.isfinite(row[chosen])) else "outside"
        return self._places[key]

    def _locate(self, claim: np.ndarray, chosen: np.ndarray, rounds: int) -> HullSide:
        seen = self._samples
        sizes = np.maximum.reduce([np.abs(seen.low), np.abs(seen.high), np.abs(claim)])[chosen]
        off = (claim - (seen.low + seen.high) / 2)[chosen]
        leaning = np.sign(off)

        def scaled(rows: Sequence[np.ndarray]) -> list[np.ndarray]:
            return [row[chosen] / sizes for row in rows]

        def more(gap: np.ndarray) -> list[np.ndarray]:
            known = len(seen.rows)
            signs = np.where(np.abs(gap) > self.jump / 4, np.sign(gap), leaning / 2)
            directions = np.zeros((5, claim.size))
            ahead = gap / sizes, _unit(off) + _unit(gap / sizes), off + gap * sizes
            directions[:, chosen] = gap / sizes, signs, *ahead
            self._sample_extremes(*directions[:2])
            for row in directions[2:]:
                self._sample_along(self._parts(row), is_straight=True)
            return scaled(seen.rows[known:])

        return locate_in_hull(claim[chosen] / sizes, scaled(seen.rows), more, self.jump / 4, rounds)

    def _sample_extremes(self, *directions: np.ndarray) -> None:
        """Sample along directions, and where jumps between their ends gain most."""
        self._sample_along(self.nearby.random_direction())
        for row in directions:
            ahead, behind = self._sample_along(self._parts(row))
            if ahead is not None and behind is not None:
                names = [name for name in self.nearby.movable if name in ahead and name in behind]
                jumps = {name: ahead[name] - behind[name] for name in names}
                self._sample_along(jumps)
                signs = {name: np.sign(jump) for name, jump in jumps.items()}
                self._sample_along(signs)
                self._sample_along({name: sign for name, sign in signs.items() if name in self.nearby.intermediates})

    def _sample_along(self, direction: Arrays, is_straight: bool = False) -> Sequence[Arrays | None]:
        moves = self.nearby.moves(direction, is_straight)
        sides = [self.nearby.gradients({name: part * m for name, m in moves.items()}) for part in (1.0, -1.0)]
        for side in sides:
            self._samples.add(None if side is None else self._row(side))
        return sides


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / (float(np.linalg.norm(vector)) or 1.0)


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

    The nearest point of the hull is found by corrective steps (Wolfe, "Finding the nearest point in a polytope",
    Mathematical Programming 11, 1976): it says in which direction a vector is missing, or separates.

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
    alike = {np.round(one / near).tobytes(): one for one in reversed(vectors)}
    return _locate_by_nearest(point, list(alike.values())[-MAX_VECTORS:], more, near, rounds)


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


def _excess(point: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return how far each entry lies above all vectors, or below all."""
    return np.asarray(np.maximum(point - vectors.max(axis=0), 0) + np.minimum(point - vectors.min(axis=0), 0))


def _leaves_their_plane(point: np.ndarray, vectors: np.ndarray, near: float) -> bool:
    """Return whether all vectors have one sum, and the point another."""
    sums, total = vectors.sum(axis=1), float(point.sum())
    room = near * max(1.0, float(np.abs(vectors).sum(axis=1).max()))
    return bool(np.ptp(sums) <= room and abs(total - sums[0]) > 2 * room)
