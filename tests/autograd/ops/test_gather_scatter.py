"""gather, scatter and their kin: repeats, small indices, errors."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import Tensor, ops
from tests.autograd.ops.both import agree, normal, raised

X = normal(3, 4)
INDEX = np.array([[0, 2, 1], [2, 2, 2]])


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_repeated_indices_smaller_than_the_tensor(dim: int) -> None:
    agree(f"gather(x, {dim}, i)", x=X, i=INDEX)
    agree(f"x.gather(dim={dim}, index=i)", x=X, i=INDEX.astype(np.int32))
    agree(f"scatter_add(x, {dim}, i, y)", x=X, i=INDEX, y=normal(2, 3))
    agree(f"scatter_add(x, {dim}, i, y)", x=X, i=INDEX[:0], y=normal(0, 3))


def test_0d_and_empty() -> None:
    agree("gather(x, 0, i)", x=np.array(2.0), i=np.array(0))
    agree("scatter_add(x, 0, i, y)", x=np.array(2.0), i=np.array(0), y=np.array(3.0))
    agree("scatter(x, 0, i, y)", x=np.array(2.0), i=np.array(0), y=np.array(3.0))
    agree("index_select(x, 0, i)", x=X, i=INDEX[0, :0])
    agree("index_add(x, 0, i, y)", x=X, i=INDEX[0, :0], y=normal(0, 4))
    agree("gather(x, 1, i)", x=normal(3, 0), i=np.zeros((2, 0), dtype=np.int64))


def test_scatter_overwrites() -> None:
    index = np.array([[0, 1, 2, 0]])
    agree("scatter(x, 0, i, y)", x=X, i=index, y=normal(1, 4))
    agree("x.scatter(0, i, 2.5)", x=X, i=index)


def test_a_source_larger_than_the_index_gets_zeros_beyond_it() -> None:
    """torch has no gradient there."""
    source = Tensor(normal(3, 4, seed=1), requires_grad=True)
    ops.scatter_add(X, 0, INDEX, source).backward(normal(3, 4, seed=2))
    assert source.grad is not None
    want = np.zeros((3, 4))
    want[:2, :3] = np.take_along_axis(normal(3, 4, seed=2)[:, :3], INDEX, 0)
    np.testing.assert_array_equal(source.grad.data, want)


def test_slices_by_an_index() -> None:
    index = np.array([2, 0, 2, 2])
    agree("index_select(x, -1, i)", x=X, i=index)
    agree("index_select(x, 0, i[0])", x=X, i=index)
    agree("index_add(x, 1, i, y)", x=X, i=index, y=normal(3, 4, seed=3))
    agree("x.index_add(0, i, y, alpha=-2)", x=X, i=index, y=normal(4, 4))
    assert ops.index_select(X, 0, index).shape == (4, 4)
    assert ops.TABLE["index_select"].elements(X, 1, index) == 12


def test_take_along_dim() -> None:
    agree("take_along_dim(x, i, 0)", x=X, i=np.array([[2], [0]]))
    agree("take_along_dim(x, i, 1)", x=X, i=np.array([[-1, 3]]))
    agree("take_along_dim(x, i)", x=X, i=INDEX)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("gather(x, 0, i[0])", "shape_mismatch"),
        ("gather(x, 0, i - 3)", "index_out_of_range"),
        ("gather(x, 0, i + 1)", "index_out_of_range"),
        ("gather(x, 2, i)", "index_out_of_range"),
        ("gather(x, 0, x)", "dtype_mismatch"),
        ("gather(x[:, :2], 0, i)", "shape_mismatch"),
        ("scatter(x, 0, i + 5, x)", "index_out_of_range"),
        ("scatter(x, 0, i, f)", "dtype_mismatch"),
        ("scatter(x, 0, i, x[:1])", "shape_mismatch"),
        ("scatter_add(x, 0, i, f)", "dtype_mismatch"),
        ("scatter_add(x, 0, i[0], x)", "shape_mismatch"),
        ("index_select(x, 0, i)", "index_out_of_range"),
        ("index_select(x, 0, i[0] - 1)", "index_out_of_range"),
        ("index_select(x, 0, x[0])", "dtype_mismatch"),
        ("index_add(x, 0, i[0], x[:2])", "shape_mismatch"),
        ("index_add(x, 0, i[0], f)", "dtype_mismatch"),
        ("index_add(x, 0, i[0] + 3, x)", "index_out_of_range"),
        ("take_along_dim(x, i[0], 0)", "shape_mismatch"),
    ],
)
def test_errors_are_of_torchs_kind(text: str, kind: str) -> None:
    assert raised(text, x=X, i=INDEX, f=X.astype(np.float32)) == (kind, kind)
