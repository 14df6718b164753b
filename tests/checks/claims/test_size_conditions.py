"""What sizes must be like, from those that were accepted and rejected."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gradcheck.checks.claims.size_conditions import Sizes, size_condition


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
