"""Dimensions and sizes: negative, alone, in lists, or wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.ops.common import dims
from gradcheck.errors import ArgumentError, GradcheckError, IndexOutOfRange, ShapeMismatch


def test_dimensions_are_counted_from_the_front() -> None:
    assert [dims.canonical_dim(d, 3) for d in (0, 2, -1, -3)] == [0, 2, 2, 0]
    assert dims.canonical_dim(-1, 0) == 0
    assert dims.canonical_dims((-1, 0), 3) == (2, 0)
    assert dims.canonical_dims(np.int64(1), 3) == (1,)


def test_a_reduction_runs_over_all_dimensions_or_those_that_are_named() -> None:
    assert dims.reduced_axes(None, 2) == dims.reduced_axes((), 2) == (0, 1)
    assert dims.reduced_axes((-1, 0), 3) == (0, 2)
    assert dims.reduced_axes(0, 0) == ()
    x = np.zeros((2, 3, 4))
    assert (dims.count_reduced(x, (0, -1)), dims.count_reduced(x, None)) == (8, 24)
    assert not dims.any_empty(x, (0, 1))
    assert dims.any_empty(np.zeros((2, 0)), (1,))


@pytest.mark.parametrize(("dim", "keepdim"), [((0, 2), False), ((0, 2), True), (None, False), (1, False)])
def test_what_was_reduced_broadcasts_again(dim: Any, keepdim: bool) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    reduced = np.sum(x, axis=dims.reduced_axes(dim, 3), keepdims=keepdim)
    restored = dims.restore_reduced_dims(reduced, x, dim, keepdim)
    np.testing.assert_array_equal(
        np.broadcast_to(restored, x.shape)[1, 2, 3], np.sum(x, dims.reduced_axes(dim, 3)).ravel()[-1]
    )


def test_a_cotangent_is_folded_back() -> None:
    x = np.zeros((1, 3))
    assert dims.unbroadcast(np.ones((2, 1, 3)), x).tolist() == [[2, 2, 2]]
    assert dims.unbroadcast(x, x) is x


def test_sizes() -> None:
    assert dims.as_shape(3) == (3,)
    assert dims.as_shape([2, 0]) == (2, 0)
    assert dims.as_partial_shape((2, -1)) == (2, -1)
    assert dims.broadcast_shape("add", (2, 1), (3,)) == (2, 3)


WRONG: list[tuple[type[GradcheckError], Callable[[], Any]]] = [
    (ArgumentError, lambda: dims.require_integer(True, "a size")),
    (ArgumentError, lambda: dims.require_integer(2.0, "a size")),
    (IndexOutOfRange, lambda: dims.canonical_dim(3, 3)),
    (IndexOutOfRange, lambda: dims.canonical_dim(-2, 0)),
    (ShapeMismatch, lambda: dims.canonical_dims((1, -1), 2)),
    (ShapeMismatch, lambda: dims.as_shape([2, -1])),
    (ShapeMismatch, lambda: dims.as_partial_shape([-2])),
    (ShapeMismatch, lambda: dims.broadcast_shape("add", (2,), (3,))),
]


@pytest.mark.parametrize(("kind", "call"), WRONG)
def test_what_is_wrong_is_a_typed_error(kind: type[GradcheckError], call: Callable[[], Any]) -> None:
    with pytest.raises(kind):
        call()
