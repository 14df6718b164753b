"""Numbers along a path, found without slopes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gradcheck.checks.branches.branch_sites import BranchSite, Margin
from gradcheck.checks.branches.line_search import search_paths
from gradcheck.checks.branches.search_variables import SearchVariable

ABOVE, EQUAL = BranchSite("f", 0, "gt"), BranchSite("f", 0, "eq")
X = SearchVariable("x")


def walked(site: BranchSite, side: int, f: Callable[[np.ndarray], np.ndarray]) -> np.ndarray | None:
    """The number at which the margin `f` is on this side, on a path that begins at 0.9."""

    def path(place: float, grid: int) -> dict[SearchVariable, np.ndarray]:
        number = np.array([0.9 * place])
        return {X: np.rint(number * grid) / grid if grid else number}

    found = search_paths(
        [(site, side)], [path], lambda path, place, grid=0: [Margin(f(path(place, grid)[X]), np.ones(1))]
    )
    return None if found is None else found[X]


def test_a_number_that_a_rounded_function_takes() -> None:
    found = walked(EQUAL, 0, lambda x: np.round(np.exp2(x)) - 40)
    assert found is not None
    assert np.round(np.exp2(found)) == 40


def test_a_number_that_is_round() -> None:
    assert walked(EQUAL, 0, lambda x: x * x * x - 3.375) == 1.5


def test_near_to_where_a_side_begins() -> None:
    found = walked(ABOVE, 1, lambda x: x - 6)
    assert found is not None
    assert 6 < found < 6.1


def test_where_nothing_comes_out_so() -> None:
    assert walked(ABOVE, 1, lambda x: -x * x) is None
    assert walked(EQUAL, 0, lambda x: np.round(x) - 0.5) is None
