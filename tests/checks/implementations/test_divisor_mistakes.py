"""Sizes in place of the sum of a mask, and the reverse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.testing import check_function

_X = np.array([[0.4, -1.1, 0.9], [1.7, 0.2, -0.6]])
_MASK = np.array([[True, False, True], [True, True, False]])


def _over(divisor: Any) -> Any:
    return lambda x, mask: ((x * mask).sum() / divisor(mask), mask)


def _sum(mask: Any) -> Any:
    return mask.sum()


def _size(mask: Any) -> Any:
    return mask.size


@pytest.mark.parametrize(
    ("right", "wrong", "cause"),
    [
        (_sum, _size, r"divided by x.numel\(\) where sum\(mask\) belongs"),
        (_size, _sum, r"divided by sum\(mask\) where x.numel\(\) belongs"),
    ],
)
def test_a_size_beside_the_sum_of_a_mask_is_named(right: Any, wrong: Any, cause: str) -> None:
    with pytest.raises(AssertionError, match=f"cause: (perhaps: )?{cause}"):
        check_function(_over(right), lambda g, mask: (g * mask / wrong(mask), None), x=_X, mask=_MASK)


def test_a_plain_factor_stays_one() -> None:
    with pytest.raises(AssertionError, match=r"cause: off by the constant factor 2\.5"):
        check_function(_over(_sum), lambda g, mask: (2.5 * g * mask / mask.sum(), None), x=_X, mask=_MASK)
