"""Pullback: shapes and dtypes, conjugation, half precision, wrong rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import Tensor, ops
from gradcheck.autograd.dtypes import BFLOAT16
from gradcheck.autograd.pullback import cast, pull_arrays, pull_nodes
from gradcheck.errors import NoGradRequired, ShapeMismatch


def leaf(array: Any) -> Tensor:
    return Tensor(np.asarray(array), requires_grad=True)


def test_only_arguments_that_require_a_gradient_get_a_share() -> None:
    x, y = leaf([1.0, 2.0]), Tensor([3.0, 4.0])
    ((creator, share),) = pull_arrays(x * y, np.ones(2))
    assert creator is x
    assert share.tolist() == [3, 4]


def test_every_use_of_a_tensor_gets_a_share() -> None:
    x = leaf([1.0, 2.0])
    shares = pull_arrays(ops.cat([x, Tensor([0.0]), x]), np.arange(5.0))
    assert [(creator is x, share.tolist()) for creator, share in shares] == [(True, [0, 1]), (True, [3, 4])]


def test_broadcasting_is_undone_and_the_dtype_restored() -> None:
    x, y = Tensor(np.ones(3, np.float32), requires_grad=True), leaf(np.ones((2, 3)))
    (_, share), _ = pull_arrays(x * y, np.ones((2, 3)))
    assert (share.tolist(), share.dtype) == ([2, 2, 2], np.float32)


def test_a_holomorphic_rule_is_conjugated() -> None:
    z = leaf([1 + 2j])
    ((_, share),) = pull_arrays(z * z, np.array([1.0 + 0j]))[:1]
    assert share.tolist() == [1 - 2j]


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16])
def test_half_precision_is_rounded_once(dtype: Any) -> None:
    x = Tensor(np.array([3.0]).astype(dtype), requires_grad=True)
    ((_, share),) = pull_arrays(ops.sin(x), np.array([1.0]).astype(dtype))
    assert share.dtype == dtype
    assert share == np.cos(np.array([3.0], np.float32)).astype(dtype)


def test_nodes_record_how_shares_were_computed() -> None:
    x = leaf([2.0])
    ((_, share),) = pull_nodes(ops.square(x), leaf([1.0]))
    assert share.requires_grad
    assert share.tolist() == [4]


def test_an_argument_without_a_rule_gets_zeros() -> None:
    x = leaf([1.5])
    without = replace(ops.square, rules=(None,))
    ((_, share),) = pull_arrays(Tensor.record(x.data, without, (x,)), np.ones(1))
    assert share.tolist() == [0]


def test_a_leaf_and_a_rule_of_the_wrong_shape_are_errors() -> None:
    with pytest.raises(NoGradRequired, match="leaf"):
        pull_arrays(leaf([1.0]), np.ones(1))
    x = leaf(np.ones((2, 3)))
    wrong = replace(ops.mT, rules=(lambda g, y, x: g,))
    with pytest.raises(ShapeMismatch, match=r"rule of mT made \(3, 2\) for an argument of \(2, 3\)"):
        pull_arrays(Tensor.record(x.data.T, wrong, (x,)), np.ones((3, 2)))


def test_casting_works_on_whatever_there_is() -> None:
    single = np.dtype(np.float32)
    assert cast(np.ones(1), single).dtype == cast(Tensor([1.0]), single).dtype == single
