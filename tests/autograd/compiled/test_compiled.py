"""Only accelerated classes take the fast path; functions can be dropped."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd import Tensor, accelerator, ops
from gradcheck.autograd.compiled import FAST_CALLS
from gradcheck.autograd.compiled.calls import BINARY
from tests.autograd.compiled.kit import GeneralTensor, leaf, often


def test_tensors_alone_are_accelerated() -> None:
    assert list(FAST_CALLS) == [Tensor]


def test_a_class_that_extends_tensor_goes_the_general_way() -> None:
    x = leaf(2, kind=GeneralTensor)
    for made in (often(lambda: ops.exp(x)), often(lambda: x * 2.0), often(lambda: x * Tensor(np.ones(2)))):
        assert made.plan is None


def test_operators_keep_their_names_of_the_table() -> None:
    for name, method in BINARY.items():
        assert getattr(Tensor, method)(leaf(2), 2.0).creation_op.name == name


def test_functions_that_were_compiled_are_forgotten() -> None:
    x = leaf(2)
    first = (x * 2.0).plan
    assert (x * 2.0).plan is first
    accelerator.forget()
    assert (x * 2.0).plan is not first
