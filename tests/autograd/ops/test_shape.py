"""Shapes and orders: what is refused, and what torch does at the edges."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import ops
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
        ("x.expand(3, 3)", "shape_mismatch"),
        ("x.expand(3)", "shape_mismatch"),
        ("x.expand(-1, 2, 3)", "shape_mismatch"),
        ("x.repeat(2)", "shape_mismatch"),
        ("x.repeat(-1, 2)", "shape_mismatch"),
        ("c.t()", "shape_mismatch"),
        ("c.H", "shape_mismatch"),
        ("v.mT", "shape_mismatch"),
        ("v.mH", "shape_mismatch"),
        ("x.transpose(0, 2)", "index_out_of_range"),
        ("x.permute(0)", "shape_mismatch"),
        ("x.permute(0, 2)", "index_out_of_range"),
        ("x.movedim(0, 2)", "index_out_of_range"),
        ("x.movedim((0, 0), (0, 1))", "shape_mismatch"),
        ("x.flip(2)", "index_out_of_range"),
        ("x.flip(0, 0)", "shape_mismatch"),
        ("x.roll((1, 2))", "shape_mismatch"),
        ("x.roll((1, 2), (0,))", "shape_mismatch"),
        ("z.roll(1, 0)", "index_out_of_range"),
        ("v.fliplr()", "shape_mismatch"),
        ("z.flipud()", "shape_mismatch"),
    ],
)
def test_errors_are_of_torchs_kind(text: str, kind: str) -> None:
    assert raised(text, x=X, v=V, c=C, z=Z) == (kind, kind)


@pytest.mark.parametrize(
    "text",
    [
        "z.squeeze(0)",
        "z.unsqueeze(-1)",
        "z.transpose(0, -1)",
        "z.movedim(0, -1)",
        "z.flip(0)",
        "z.flip(())",
        "z.flatten()",
        "z.permute(())",
        "z.t()",
        "z.expand(2, 0)",
        "z.repeat(())",
        "z.repeat(2, 3)",
        "z.tile(())",
        "z.roll(1)",
        "z.reshape(-1)",
        "x[:0].flatten()",
        "x[:0].reshape(3, 0)",
        "x[:0].flip(0)",
        "x[:0].expand(2, 0, 3)",
        "x[:1].expand(0, -1)",
        "x.repeat(0, 1)",
        "x.tile(2)",
        "x.unflatten(-1, (-1, 1))",
        "x.roll((1, -2), (0, -1))",
        "x.roll((1, 1), (0, 0))",
        "x.roll(7)",
        "c.rot90(k, (0, 2))".replace("k", "1"),
        "c.rot90(2, (1, -1)) * c.rot90(-2, (1, -1))",
        "c.rot90(3, (2, 1))",
        "c.permute(-1, 0, -2)",
        "c.movedim((0, 2), (-1, 0))",
        "c.swapaxes(0, -1) * c.swapdims(-1, 0)",
        "c.squeeze((1, -1))",
        "x.view_as(x.T)",
    ],
)
def test_edges(text: str) -> None:
    agree(text, x=X, v=V, c=C, z=Z)


def test_conjugate_transposes() -> None:
    z = X + 1j * normal(2, 3, seed=1)
    agree("z.H", z=z)
    agree("z.mH @ z", z=z)
    agree("x.H", x=X)


def test_whole_numbers_alone_are_sizes_and_dimensions() -> None:
    for call in (lambda: ops.reshape(X, (2.0, 3)), lambda: ops.squeeze(X, 0.5), lambda: ops.unsqueeze(X, True)):
        with pytest.raises(ArgumentError):
            call()


def test_rotations_come_back() -> None:
    for k in range(-5, 6):
        np.testing.assert_array_equal(ops.rot90(X, k), np.rot90(X, k))
        np.testing.assert_array_equal(ops.rot90(ops.rot90(X, k), -k), X)


def test_shapes_are_named_in_errors() -> None:
    with pytest.raises(ShapeMismatch, match=r"\[2, 3\].*\[4\]"):
        ops.reshape(X, (4,))
    with pytest.raises(ShapeMismatch, match=r"\[2, 3\].*\[5, 3\]"):
        ops.expand(X, (5, 3))


def test_expanding_costs_no_memory() -> None:
    assert ops.expand(np.zeros((1, 10)), (10**9, 10)).strides[0] == 0
    assert ops.TABLE["repeat"].elements(X, (10**6, 10**6)) == 6 * 10**12
