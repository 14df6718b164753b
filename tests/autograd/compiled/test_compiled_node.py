"""Compiled nodes: the form of arrays, and recomputed released values."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd import Tensor, ops
from gradcheck.autograd.compiled.buffer_release import ReleasedArray
from gradcheck.autograd.compiled.compiled_node import UNKNOWN_FORM, form_of, recompute
from tests.autograd.compiled.kit import leaf, often


def test_arrays_of_one_shape_and_dtype_share_a_form() -> None:
    assert form_of(np.ones((2, 3))) is form_of(np.zeros((2, 3)))
    assert form_of(np.ones((2, 3))) is not form_of(np.ones((3, 2)))
    assert form_of(np.ones(2)) is not form_of(np.ones(2, np.float32))
    for other in (np.ones(2, ">f8"), np.ones(2, np.float16), np.ones(2, complex), np.ones(2).view(np.recarray)):
        assert form_of(other) is UNKNOWN_FORM


def test_a_tensor_with_another_array_has_another_form() -> None:
    x = leaf(2, 3)
    often(lambda: ops.mean(x, 0))
    x.data = np.ones((5, 2))
    assert ops.mean(x, 0).tolist() == [1, 1]
    assert (x * x).shape == (5, 2)


def test_arrays_of_another_byte_order_or_class_have_no_plan() -> None:
    often(lambda: ops.exp(leaf(2)))
    for array in (np.ones(2, ">f8"), np.ones(2).view(np.recarray)):
        x = leaf(2)
        x.data = array
        assert ops.exp(x).plan is None
        assert (x * x).plan is None


def test_a_compiled_result_reads_like_any_other() -> None:
    x = leaf(2)
    general = Tensor.record(x.data * 2.0, ops.mul, (x, 2.0))
    assert general.plan is None
    assert (x * 2.0).plan is not None
    for node in (x * 2.0, general):
        assert (node.arguments, node.creators, node.creation_op) == ((x, 2.0), (x,), ops.mul)
        assert (node.shape, node.dtype, node.ndim, node.grad, node.freed) == ((2,), np.float64, 1, None, False)


def test_a_released_value_keeps_its_shape_and_is_computed_when_it_is_read() -> None:
    x = leaf(2, 3)
    y = (x * 2.0) + 1.0
    for node in (y, y.creators[0]):
        node.array = node.find_form().released()
    assert (y.shape, y.dtype, y.ndim) == ((2, 3), np.float64, 2)
    assert type(y.array) is ReleasedArray
    assert recompute(y).tolist() == (x.data * 2.0 + 1.0).tolist()
    assert type(y.creators[0].array) is np.ndarray


def test_data_that_is_set_on_a_result_is_never_released() -> None:
    y = leaf(2) * 2.0
    y.data = np.ones(2)
    assert y.array.base is not None
