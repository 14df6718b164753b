"""Other orders: what is refused, and what torch does at the edges."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import ops
from tests.autograd.ops.both import agree, normal, raised

X, V, C, Z = normal(2, 3), normal(3), normal(4, 2, 3), np.array(1.5)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
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
        "z.transpose(0, -1)",
        "z.movedim(0, -1)",
        "z.flip(0)",
        "z.flip(())",
        "z.permute(())",
        "z.t()",
        "z.roll(1)",
        "x[:0].flip(0)",
        "x.roll((1, -2), (0, -1))",
        "x.roll((1, 1), (0, 0))",
        "x.roll(7)",
        "c.rot90(1, (0, 2))",
        "c.rot90(2, (1, -1)) * c.rot90(-2, (1, -1))",
        "c.rot90(3, (2, 1))",
        "c.permute(-1, 0, -2)",
        "c.movedim((0, 2), (-1, 0))",
        "c.swapaxes(0, -1) * c.swapdims(-1, 0)",
    ],
)
def test_edges(text: str) -> None:
    agree(text, x=X, v=V, c=C, z=Z)


def test_conjugate_transposes() -> None:
    z = X + 1j * normal(2, 3, seed=1)
    agree("z.H", z=z)
    agree("z.mH @ z", z=z)
    agree("x.H", x=X)


def test_rotations_come_back() -> None:
    for k in range(-5, 6):
        np.testing.assert_array_equal(ops.rot90(X, k), np.rot90(X, k))
        np.testing.assert_array_equal(ops.rot90(ops.rot90(X, k), -k), X)
