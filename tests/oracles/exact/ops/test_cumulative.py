"""Products along a dimension: those of the same integers."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.oracles.exact import ops
from gradcheck.oracles.exact.dual import Dual
from tests.oracles.exact.calls import point

assert ops


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_products_accumulate(dim: int) -> None:
    values = np.arange(2, 8).reshape(2, 3)
    found = TABLE["cumprod"](Dual(point(), values, np.zeros_like(values)), dim)
    assert np.array_equal(found.value, np.cumprod(values, dim))
    assert not np.any(found.tangent)


def test_the_product_rule() -> None:
    found = TABLE["cumprod"](Dual(point(), np.array([2, 3, 4]), np.array([1, 0, 0])), 0)
    assert found.tangent.tolist() == [1, 3, 12]


def test_nothing_to_multiply() -> None:
    empty = Dual(point(), np.zeros((0, 3), dtype=np.int64))
    assert TABLE["cumprod"](empty, 0) is empty
