"""By which tensor's sign or size elements stand out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gradcheck.checks.claims.element_conditions import Sizes, element_condition, size_condition
from gradcheck.reports.phrases import say

X = np.array([-2.0, 0.0, 1.0, 3.5])
NONE = np.zeros(4, dtype=bool)


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (X < 0, "where x < 0"),
        (X == 0, "where x == 0"),
        (X <= 0, "where x <= 0"),
        (X > 3, "where x > 3"),
        (~NONE, "where some x < 0"),
        (np.array([True, False, True, False]), ""),
    ],
)
def test_words(mask: np.ndarray, words: str) -> None:
    assert say(element_condition([({"x": X}, mask), ({"x": np.full(4, 2.0)}, NONE)])) == words


def test_nothing_was_seen() -> None:
    assert element_condition([]) is None


def sizes(*pairs: tuple[int, int]) -> list[dict[str, int]]:
    return [{"n": n, "m": m} for n, m in pairs]


@pytest.mark.parametrize(
    ("accepted", "rejected", "condition"),
    [
        (sizes((2, 4), (3, 3), (1, 7)), sizes((5, 1), (7, 3)), "n <= m"),
        (sizes((2, 4), (1, 7)), sizes((5, 1), (3, 3)), "n < m"),
        (sizes((2, 4), (5, 3), (2, 2)), sizes((1, 3), (1, 7)), "n >= 2"),
        (sizes((2, 4), (1, 7)), [], ""),
        (sizes((2, 4), (4, 2)), sizes((2, 4)), ""),
    ],
)
def test_the_simplest_that_tells_them_apart(
    accepted: list[dict[str, int]], rejected: list[dict[str, int]], condition: str
) -> None:
    assert size_condition(accepted, rejected, lambda _: None) == condition


@pytest.mark.parametrize(
    ("says", "condition"),
    [
        (lambda s: s["n"] >= 2, "n >= 2"),  # no point had 2, 3 or 4
        (lambda s: s["n"] >= 4, "n >= 4"),
        (lambda s: False, "n >= 5"),
        (lambda s: None, "n >= 5"),
    ],
)
def test_the_least_size_is_looked_for(says: Callable[[Sizes], bool | None], condition: str) -> None:
    assert size_condition([{"n": 7}, {"n": 5}], [{"n": 1}], says) == condition


def test_whether_two_may_be_equal_is_looked_for() -> None:
    """No point has n = m."""
    accepted, rejected = sizes((2, 4), (1, 7)), sizes((5, 1), (7, 3))
    assert size_condition(accepted, rejected, lambda s: s["n"] <= s["m"]) == "n <= m"
    assert size_condition(accepted, rejected, lambda s: s["n"] < s["m"]) == "n < m"
