"""Which argument a share of a gradient belongs to."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd import Tensor, ops
from gradcheck.checks.mutation.core_mutation import positions


def leaf(*shape: int, requires_grad: bool = True) -> Tensor:
    return Tensor(np.ones(shape), requires_grad=requires_grad)


def test_those_that_want_a_gradient_have_a_position() -> None:
    assert positions(leaf(2) * leaf(2)) == [0, 1]
    assert positions(leaf(2, requires_grad=False) * leaf(2)) == [1]
    assert positions(leaf(2) * 3.0) == [0]


def test_all_items_of_a_sequence_share_one() -> None:
    assert positions(ops.cat([leaf(2), leaf(3, requires_grad=False), leaf(1)])) == [0, 0]
