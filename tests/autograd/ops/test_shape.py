"""Other shapes: what is refused, and what torch does at the edges."""

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
