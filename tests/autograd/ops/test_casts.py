"""Casts: by name, of complex numbers, of the graph."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import Tensor, ops
from gradcheck.autograd.dtypes import ALIASES, BY_NAME


@pytest.mark.parametrize("name", [*ALIASES, "bool", "bfloat16"])
def test_a_cast_is_named_as_in_torch(name: str) -> None:
    assert getattr(Tensor([1.0, 0.0]), name)().dtype == BY_NAME[ALIASES.get(name, name)]


def test_a_real_dtype_leaves_the_imaginary_part_behind() -> None:
    assert ops.to(np.array([1 + 2j]), np.dtype(np.float32)).tolist() == [1]


def test_the_gradient_comes_back_in_the_dtype_of_its_tensor() -> None:
    x = Tensor(np.ones(2, np.float32), requires_grad=True)
    ops.to(x, "float64").backward(np.array([1.0, 2.0]))
    assert x.grad is not None
    assert (x.grad.dtype, x.grad.tolist()) == (np.float32, [1, 2])


def test_a_copy_is_another_array_and_what_is_detached_has_no_creators() -> None:
    x = Tensor([1.0], requires_grad=True)
    assert ops.clone(x).data is not x.data
    assert ops.clone(x).creators == (x,)
    assert ops.detach(x).creators == ()
