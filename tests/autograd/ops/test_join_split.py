"""Joining and splitting: mixed dtypes, empty pieces, errors."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import Tensor, ops
from gradcheck.errors import ArgumentError
from tests.autograd.ops.both import agree, normal, raised

X, Y, Z = normal(2, 3), normal(2, 2), np.array(1.5)


@pytest.mark.parametrize(
    "text",
    [
        "cat([x, x, y], 1)",
        "cat((x, 2 * x))",
        "cat([x, f, k])",
        "cat([k, f])",
        "stack([x, f], -1)",
        "stack([z, z * 2])",
        "cat([x[:, :0], x], 1)",
        "cat([x[0, :0], x], 1)",
        "hstack([x, y])",
        "hstack([x[0], z, y[1]])",
        "vstack([x, x[0]])",
        "dstack([x, x])",
        "column_stack([x, x[:, 0]])",
        "concat([x, x], dim=-1)",
        "x.split(2, 1)",
        "x.split(5, 1)",
        "x.split([0, 3], 1)",
        "x[:0].split(0)",
        "x.chunk(2, -1)",
        "x.chunk(7, 1)",
        "x[:0].chunk(2)",
        "x.tensor_split(2, 1)",
        "x.tensor_split(5, 1)",
        "x.tensor_split([1, -1], 1)",
        "x.tensor_split([2, 1, 9], 1)",
        "x.unbind(1)",
        "x[:, :0].unbind(1)",
        "cat(x.split(1, 1)[1:], 1) * x.unbind()[0][:2]",
    ],
)
def test_values_and_gradients(text: str) -> None:
    agree(text, x=X, y=Y, z=Z, f=X.astype(np.float32), k=np.arange(6).reshape(2, 3))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("cat([x, y])", "shape_mismatch"),
        ("cat([x, x], 2)", "index_out_of_range"),
        ("cat([z, z])", "shape_mismatch"),
        ("cat([x, x[0]])", "shape_mismatch"),
        ("stack([x, y])", "shape_mismatch"),
        ("stack([x, x], 3)", "index_out_of_range"),
        ("hstack([x, y[0]])", "shape_mismatch"),
        ("x.split(0)", "shape_mismatch"),
        ("x.split(-1)", "shape_mismatch"),
        ("x.split([1, 2])", "shape_mismatch"),
        ("x.split([3, -1])", "shape_mismatch"),
        ("x.split(1, 2)", "index_out_of_range"),
        ("z.split(1)", "shape_mismatch"),
        ("z.unbind()", "index_out_of_range"),
        ("x.unbind(2)", "index_out_of_range"),
    ],
)
def test_errors_are_of_torchs_kind(text: str, kind: str) -> None:
    assert raised(text, x=X, y=Y, z=Z) == (kind, kind)


def test_a_tensor_is_no_list_of_tensors() -> None:
    """Its rows would lose their gradient."""
    for value in (X, Tensor(X, requires_grad=True), 3):
        with pytest.raises(ArgumentError, match="list of tensors"):
            ops.cat(value)


def test_the_same_tensor_twice_in_a_list() -> None:
    x = Tensor(X, requires_grad=True)
    ops.cat([x, x], 1).backward(normal(2, 6))
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.data, normal(2, 6)[:, :3] + normal(2, 6)[:, 3:])
