"""Ops alone of engines that broadcast nothing are asked with operands as large as the result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.engines.base import Application, Pullback
from gradcheck.engines.tensor_class.operand_broadcast import broadcast_operands, sum_to_operands

ROW, COLUMN = np.array([1.0, 2.0, 3.0]), np.array([[1.0], [2.0]])
_OUTPUT = ((2, 3), np.dtype(float))
MUL = Application(TABLE["mul"], (ROW, COLUMN), {}, "y", outputs=(_OUTPUT,))


def test_operands_are_stretched_and_gradients_summed() -> None:
    large = broadcast_operands(MUL)
    assert [array.shape for array in large.args] == [(2, 3), (2, 3)]
    found = sum_to_operands(Pullback((np.ones((2, 3)), np.ones((2, 3)))), MUL)
    row, column = found.gradients
    assert row is not None
    assert column is not None
    assert (row.tolist(), column.tolist()) == ([2, 2, 2], [[3], [3]])


def test_of_what_is_not_tracked_or_has_no_gradient_nothing_is_summed() -> None:
    found = sum_to_operands(Pullback((np.ones((2, 3)),)), replace(MUL, tracked=(False, True)))
    assert [gradient.shape for gradient in found.gradients if gradient is not None] == [(2, 1)]
    assert sum_to_operands(Pullback((None, None)), MUL).gradients == (None, None)


def test_other_ops_and_shared_arguments_stay_as_they_are() -> None:
    product = Application(TABLE["matmul"], (COLUMN.T, COLUMN), {}, "y", outputs=(((1, 1), np.dtype(float)),))
    assert broadcast_operands(product) is product
    shared = replace(MUL, shared=True)
    assert broadcast_operands(shared) is shared
