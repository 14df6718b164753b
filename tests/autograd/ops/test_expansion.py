"""Repetition of elements: errors, edges as in torch, and cost."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import ops
from gradcheck.errors import ArgumentError, ShapeMismatch
from tests.autograd.ops.both import agree, normal, raised, refused

X, V, C, Z = normal(2, 3), normal(3), normal(4, 2, 3), np.array(1.5)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x.expand(3, 3)", "shape_mismatch"),
        ("x.expand(3)", "shape_mismatch"),
        ("x.expand(-1, 2, 3)", "shape_mismatch"),
        ("x.repeat(2)", "shape_mismatch"),
        ("x.repeat(-1, 2)", "shape_mismatch"),
    ],
)
def test_errors_are_of_torchs_kind(text: str, kind: str) -> None:
    assert raised(text, x=X, v=V, c=C, z=Z) == (kind, kind)


@pytest.mark.parametrize(
    "text",
    [
        "z.expand(2, 0)",
        "z.repeat(())",
        "z.repeat(2, 3)",
        "z.tile(())",
        "x[:0].expand(2, 0, 3)",
        "x[:1].expand(0, -1)",
        "x.repeat(0, 1)",
        "x.tile(2)",
    ],
)
def test_edges(text: str) -> None:
    agree(text, x=X, v=V, c=C, z=Z)


def test_shapes_are_named_in_errors() -> None:
    with pytest.raises(ShapeMismatch, match=r"\[2, 3\].*\[5, 3\]"):
        ops.expand(X, (5, 3))


def test_expanding_costs_no_memory() -> None:
    assert ops.expand(np.zeros((1, 10)), (10**9, 10)).strides[0] == 0
    assert ops.TABLE["repeat"].elements(X, (10**6, 10**6)) == 6 * 10**12


def test_repeat_interleave() -> None:
    agree("x.repeat_interleave(2)", x=normal(2, 3))
    agree("x.repeat_interleave(3, -1)", x=normal(2, 3))
    agree("x.repeat_interleave(0, 0)", x=normal(2, 3))
    with pytest.raises(ArgumentError):
        ops.repeat_interleave(normal(2), -1)


def test_a_size_that_does_not_broadcast_back() -> None:
    assert refused("sum_to_size(randn(2, 3), 2)") == ("shape_mismatch", "shape_mismatch")
