"""The sides of kinks among equal elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.testing import check_function

TIES = np.array([1.0, 0.0, -2.0, 0.0, 0.0, 0.0])


def forward(x: Any) -> Any:
    order = np.argsort(x, kind="stable")
    return x[order], order


def backward(g: Any, order: Any) -> Any:
    found = np.empty_like(g)
    found[order] = g
    return found


def test_any_order_of_equal_elements_is_right() -> None:
    assert check_function(forward, backward, x=TIES).exit_code == 0


def test_what_no_order_gives_is_wrong() -> None:
    def wrong(g: Any, order: Any) -> Any:
        found = backward(g, order)
        found[1], found[3] = found[1] + 4, found[3] - 4  # the sum stays
        return found

    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(forward, wrong, x=TIES)
