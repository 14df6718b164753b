"""Creators where a tensor of the table's samples cannot show it: tensors among lists, default dtypes."""

from __future__ import annotations

import numpy as np

from gradcheck import Tensor, ops
from gradcheck.autograd.modes import using_default_dtype


def test_a_tensor_is_made_of_tensors_too() -> None:
    x = Tensor([1.5, 2.5])
    made = ops.tensor([ops.sum(x), 3.0, np.float64(2.0)])
    np.testing.assert_array_equal(made, [4.0, 3.0, 2.0])


def test_a_tensor_made_of_an_array_keeps_its_dtype() -> None:
    assert ops.tensor(np.ones(2, np.float32)).dtype == np.float32


def test_numbers_take_the_default_dtype() -> None:
    with using_default_dtype(np.dtype(np.float32)):
        made = [ops.ones(2), ops.tensor([1.5]), ops.full([2], 0.5), ops.arange(0.5), ops.linspace(0, 1, 3), ops.eye(2)]
        assert {array.dtype.name for array in made} == {"float32"}
        assert ops.tensor([1 + 2j]).dtype == np.complex64
        assert ops.div(np.array([1]), 2).dtype == ops.sin(np.array([1])).dtype == np.float32
    assert ops.tensor([1, 2]).dtype == ops.arange(3).dtype == ops.full([1], 2).dtype == np.int64


def test_zeros_in_a_product() -> None:
    """The gradient of a product without division: one zero leaves one slope, two leave none."""
    values = np.arange(1.0, 71.0) / 35
    for zeros in ([3], [3, 40]):
        x = Tensor(values, requires_grad=True)
        x.data[zeros] = 0
        ops.prod(x).backward()
        assert x.grad is not None
        want = np.zeros(70)
        if len(zeros) == 1:
            want[zeros] = np.prod(np.delete(values, zeros))
        np.testing.assert_allclose(x.grad.data, want, rtol=1e-13)
