"""Tensor: what it holds, what it was made from, and how it reads."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd import Tensor, ops
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.errors import DtypeMismatch, ShapeMismatch


def test_a_leaf_copies_its_data() -> None:
    source = np.array([1.0, 2.0])
    x = Tensor(source, requires_grad=True)
    source[0] = 9
    assert x.data[0] == 1
    assert (x.shape, x.dtype, x.ndim, x.is_leaf) == ((2,), np.float64, 1, True)


def test_a_result_knows_its_creators_and_its_op() -> None:
    x, y = Tensor([1.0], requires_grad=True), Tensor([2.0])
    z = x * y
    assert z.creation_op is ops.mul
    assert z.creators[0] is x
    assert z.creators[1] is y
    assert not (y * y).requires_grad


def test_identity_is_the_objects_own() -> None:
    x, twin = Tensor([1.0]), Tensor([1.0])
    assert len({x, twin}) == 2
    assert x in {x}


def test_only_floating_tensors_can_require_gradients() -> None:
    with pytest.raises(DtypeMismatch, match="int64"):
        Tensor([1, 2], requires_grad=True)
    with pytest.raises(DtypeMismatch, match="numbers"):
        Tensor(["a"])


def test_numbers_take_the_default_dtype_and_arrays_keep_theirs() -> None:
    with using_default_dtype(np.dtype(np.float32)):
        assert Tensor([1.0]).dtype == np.float32
        assert Tensor(np.array([1.0])).dtype == np.float64
        assert Tensor([1]).dtype == np.int64


def test_shapes_that_do_not_broadcast_are_a_typed_error() -> None:
    with pytest.raises(ShapeMismatch, match="mul"):
        Tensor([1.0, 2.0]) * Tensor([1.0, 2.0, 3.0])


def test_detach_shares_values_and_cuts_the_graph() -> None:
    x = Tensor([1.0], requires_grad=True)
    cut = (x * 2).detach()
    assert cut.creators == ()
    assert not cut.requires_grad


def test_it_reads_well() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    assert repr(x) == "Tensor([1., 2.], dtype=float64, requires_grad=True)"
    assert repr(x * 2) == "Tensor([2., 4.], dtype=float64, creation_op=mul)"


def test_gradients_have_their_tensors_dtype_when_dtypes_mix() -> None:
    x, y = Tensor(np.ones(2, np.float32), requires_grad=True), Tensor(np.ones(2), requires_grad=True)
    (x * y).backward(np.ones(2))
    assert x.grad is not None
    assert y.grad is not None
    assert (x.grad.dtype, y.grad.dtype) == (np.float32, np.float64)
