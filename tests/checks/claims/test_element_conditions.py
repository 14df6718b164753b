"""By which tensor's sign or size elements stand out."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.claims.element_conditions import element_condition
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
