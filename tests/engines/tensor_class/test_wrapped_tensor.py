"""One tensor of somebody's library: what it says of itself, and whom it asks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE, Op
from gradcheck.engines.tensor_class.wrapped_tensor import WrappedTensor, compute, plain, tensors_in

X = np.array([[1.0, 2.0]])


class Asked:
    def __init__(self) -> None:
        self.calls: list[Any] = []

    def apply(self, op: Op, bound: tuple[Any, ...]) -> Any:
        self.calls.append((op.name, bound))
        return "applied"

    def gradient(self, tensor: WrappedTensor) -> np.ndarray | None:
        return 2 * tensor.array

    def set_gradient(self, tensor: WrappedTensor, gradient: np.ndarray | None) -> None:
        self.calls.append(gradient)

    def retain(self, tensor: WrappedTensor) -> None:
        self.calls.append("retain")


def asked() -> Any:
    return Asked()


@pytest.fixture
def wrapped() -> WrappedTensor:
    return WrappedTensor(asked(), "theirs", X)


def test_it_says_what_any_tensor_says(wrapped: WrappedTensor) -> None:
    assert (wrapped.shape, wrapped.ndim, wrapped.dtype.name, len(wrapped)) == ((1, 2), 2, "float64", 1)
    assert repr(wrapped) == "WrappedTensor(array([[1., 2.]]))"


def test_ops_go_to_its_engine(wrapped: WrappedTensor) -> None:
    assert wrapped * 3 == "applied"
    assert 3 - wrapped == "applied"
    assert TABLE["cat"]([wrapped, wrapped]) == "applied"
    names = [name for name, _ in wrapped.engine.calls]  # type: ignore[attr-defined]
    assert names == ["mul", "sub", "cat"]


def test_gradients_are_its_engines(wrapped: WrappedTensor) -> None:
    assert wrapped.grad.tolist() == [[2, 4]]  # type: ignore[union-attr]
    wrapped.grad = None
    wrapped.retain_grad()
    assert wrapped.engine.calls == [None, "retain"]  # type: ignore[attr-defined]


def test_tensors_among_arguments(wrapped: WrappedTensor) -> None:
    other = WrappedTensor(asked(), None, X)
    found = list(tensors_in((3, wrapped, [other, (wrapped, "text")])))
    assert [id(tensor) for tensor in found] == [id(wrapped), id(other), id(wrapped)]


def test_arrays_in_place_of_tensors(wrapped: WrappedTensor) -> None:
    array, rest = plain((wrapped, [wrapped, 3]))
    assert array is X
    assert rest[0] is X
    assert rest[1] == 3


def test_what_the_op_table_makes_of_them(wrapped: WrappedTensor) -> None:
    assert compute(TABLE["sum"], TABLE["sum"].bind((wrapped,), {})) == 3
    assert TABLE["mse_loss"].composite
    assert compute(TABLE["mse_loss"], (wrapped, wrapped, "sum", None)) == 0
