"""What sizes must be like, from those that were accepted and rejected."""

from __future__ import annotations

import pytest

from gradcheck.checks.size_conditions import needed


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
    assert needed(accepted, rejected) == condition
