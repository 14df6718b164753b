"""The hull of vectors that are asked for: who is inside, who is not, and who cannot be told."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gradcheck.checks.failures.convex_hull import MAX_DIMENSIONS, locate_in_hull, nearest_weights

NEAR = 1e-9


@pytest.mark.parametrize(("count", "size"), [(5, 3), (20, 3), (30, 60)])
def test_weights_lead_to_the_nearest_point(count: int, size: int) -> None:
    generator = np.random.default_rng(0)
    vectors = generator.standard_normal((count, size))
    for point in (vectors[:3].mean(axis=0), 1.5 * vectors.max(axis=0)):
        found = nearest_weights(vectors, point)
        nearest = found @ vectors
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1)
        assert np.max((vectors - nearest) @ (point - nearest)) <= 1e-9  # no vector is further out
    assert nearest_weights(vectors, vectors[0]) @ vectors == pytest.approx(vectors[0])


def box(size: int) -> Callable[[np.ndarray], list[np.ndarray]]:
    """The corners of a cube, the furthest out in a direction."""
    return lambda gap: [(gap > 0).astype(float), (gap < 0).astype(float)]


@pytest.mark.parametrize("size", [3, 500])
def test_a_cube_of_any_dimension(size: int) -> None:
    known = [np.zeros(size), np.ones(size)]
    half = np.full(size, 0.5)
    corner = (np.arange(size) % 2).astype(float)
    outside = np.where(np.arange(size) == 1, 1.1, 0.5)
    places = [locate_in_hull(point, known, box(size), NEAR) for point in (half, corner, outside)]
    assert places == ["inside", "inside", "outside"]


def test_all_to_each_of_two_maxima_adds_up_to_too_much() -> None:
    def shares(gap: np.ndarray) -> list[np.ndarray]:
        return [np.eye(2)[np.argmax(gap)], np.eye(2)[np.argmin(gap)]]

    points = [np.ones(2), np.array([0.3, 0.7]), np.eye(2)[0], np.zeros(2)]
    places = [locate_in_hull(point, list(np.eye(2)), shares, NEAR) for point in points]
    assert places == ["outside", "inside", "inside", "outside"]


def test_where_nothing_more_is_found_many_dimensions_leave_it_open() -> None:
    def none(gap: np.ndarray) -> list[np.ndarray]:
        return []

    for size, place in ((2, "outside"), (MAX_DIMENSIONS + 1, "unknown")):
        corners = [np.zeros(size), np.eye(size)[0], np.ones(size)]
        assert locate_in_hull(np.append(np.zeros(size - 1), 0.5), corners, none, NEAR) == place
