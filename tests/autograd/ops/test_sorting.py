"""Order of elements: equal ones, NaN, how many there are."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import Tensor, ops
from gradcheck.errors import DtypeMismatch, ShapeMismatch


@pytest.mark.parametrize("descending", [False, True])
def test_equal_elements_keep_their_order_and_nan_is_the_largest(descending: bool) -> None:
    found = ops.argsort(np.array([2.0, np.nan, 1.0, 2.0]), descending=descending)
    assert found.tolist() == ([1, 0, 3, 2] if descending else [2, 0, 3, 1])


def test_gradients_go_back_to_where_elements_came_from() -> None:
    x = Tensor([3.0, 1.0, 2.0], requires_grad=True)
    values, places = ops.sort(x)
    values.backward(np.array([1.0, 10.0, 100.0]))
    assert (places.tolist(), x.grad.tolist()) == ([1, 2, 0], [100, 1, 10])  # type: ignore[union-attr]


def test_the_largest_and_the_smallest_few() -> None:
    x = np.array([3.0, 1.0, 2.0])
    assert [part.tolist() for part in ops.topk(x, 2)] == [[3, 2], [0, 2]]
    assert [part.tolist() for part in ops.topk(x, 1, largest=False)] == [[1], [1]]
    with pytest.raises(ShapeMismatch, match="no 4 elements"):
        ops.topk(x, 4)


def test_complex_numbers_have_no_order() -> None:
    with pytest.raises(DtypeMismatch, match="complex"):
        ops.argsort(np.array([1j]))
