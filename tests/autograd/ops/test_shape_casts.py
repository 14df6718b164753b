"""Shapes and dtypes: errors, edges as in torch, casts, `detach`."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import Tensor, ops
from gradcheck.autograd.dtypes import ALIASES, BY_NAME
from gradcheck.errors import ArgumentError, ShapeMismatch
from tests.autograd.ops.both import agree, normal, raised

X, V, C, Z = normal(2, 3), normal(3), normal(4, 2, 3), np.array(1.5)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x.reshape(4)", "shape_mismatch"),
        ("x.reshape(-1, -1)", "shape_mismatch"),
        ("x.reshape(-2, 3)", "shape_mismatch"),
        ("x[:0].reshape(0, -1)", "shape_mismatch"),
        ("x.view(7)", "shape_mismatch"),
        ("x.flatten(1, 0)", "shape_mismatch"),
        ("x.flatten(2)", "index_out_of_range"),
        ("x.unflatten(1, (2, 2))", "shape_mismatch"),
        ("x.squeeze(2)", "index_out_of_range"),
        ("x.squeeze((0, 0))", "shape_mismatch"),
        ("x.unsqueeze(3)", "index_out_of_range"),
        ("x.unsqueeze(-4)", "index_out_of_range"),
    ],
)
def test_errors_are_of_torchs_kind(text: str, kind: str) -> None:
    assert raised(text, x=X, v=V, c=C, z=Z) == (kind, kind)


@pytest.mark.parametrize(
    "text",
    [
        "z.squeeze(0)",
        "z.unsqueeze(-1)",
        "z.flatten()",
        "z.reshape(-1)",
        "x[:0].flatten()",
        "x[:0].reshape(3, 0)",
        "x.unflatten(-1, (-1, 1))",
        "c.squeeze((1, -1))",
        "x.view_as(x.T)",
    ],
)
def test_edges(text: str) -> None:
    agree(text, x=X, v=V, c=C, z=Z)


def test_whole_numbers_alone_are_sizes_and_dimensions() -> None:
    for call in (lambda: ops.reshape(X, (2.0, 3)), lambda: ops.squeeze(X, 0.5), lambda: ops.unsqueeze(X, True)):
        with pytest.raises(ArgumentError):
            call()


def test_shapes_are_named_in_errors() -> None:
    with pytest.raises(ShapeMismatch, match=r"\[2, 3\].*\[4\]"):
        ops.reshape(X, (4,))


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
