"""Where the wrong elements of a tensor lie."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.reports.page.regions import wrong_region


@pytest.mark.parametrize(
    ("shape", "wrong", "told"),
    [
        ((3, 4), (slice(None), 2), "[:, 2]"),
        ((3, 4), (1,), "[1, :]"),
        ((2, 3, 4), (0, slice(1, None)), "[0, 1 or 2, :]"),
        ((9,), slice(3, None), "[3:]"),
        ((9,), slice(0, 5), "[:5]"),
        ((9, 2), [0, 4], "[0 or 4, :]"),
        ((9, 2), [0, 2, 4, 6], ""),
        ((3, 4), (), ""),
        ((3, 4), (1, 2), ""),
        ((), (), ""),
    ],
)
def test_blocks(shape: tuple[int, ...], wrong: object, told: str) -> None:
    mask = np.zeros(shape, bool)
    mask[wrong] = True  # type: ignore[index]
    assert wrong_region(mask) == told


def test_what_is_no_block_is_not_called_one() -> None:
    assert wrong_region(np.eye(3, dtype=bool)) == ""
    assert wrong_region(np.zeros((2, 2), bool)) == ""
