"""Diagonals and triangles: far offsets, odd dimensions, errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gradcheck import Tensor, ops
from tests.autograd.ops.both import agree, normal, raised

X, C = normal(3, 4), normal(2, 3, 4)


@pytest.mark.parametrize("offset", [-5, -3, -1, 0, 2, 4, 6])
def test_offsets(offset: int) -> None:
    if -3 <= offset <= 4:
        agree(f"x.diagonal({offset})", x=X)
        agree(f"x.diag({offset})", x=X)
    agree(f"x.tril({offset}) * x.triu({offset})", x=X)
    agree(f"c.tril({offset}) + c.triu({offset})", c=C)
    agree(f"diag_embed(x, {offset})", x=X)
    agree(f"diag(x[0], {offset})", x=X)


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations((-3, -1, 0, 1, 2), 2)))
def test_dimensions(one: int, other: int) -> None:
    if (one - other) % 3:
        agree(f"c.diagonal(1, {one}, {other})", c=C)
        agree(f"linalg.diagonal(c, dim1={one}, dim2={other})", c=C)
        agree(f"diag_embed(x, -1, {one}, {other})", x=X)


def test_scattered_diagonals() -> None:
    agree("c.diagonal_scatter(s, 1, 0, 2)", c=C, s=normal(3, 2))
    agree("x.diagonal_scatter(s, -2)", x=X, s=normal(1))
    agree("linalg.diagonal(b, offset=-1)", b=normal(2, 3, 3))


def test_the_arguments_are_left_alone() -> None:
    x = Tensor(X.copy(), requires_grad=True)
    ops.diagonal_scatter(x, np.ones(3))
    ops.tril(x)
    np.testing.assert_array_equal(x.data, X)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("v.trace()", "shape_mismatch"),
        ("c.trace()", "shape_mismatch"),
        ("v.diagonal()", "index_out_of_range"),
        ("x.diagonal(0, 1, 1)", "shape_mismatch"),
        ("x.diagonal(0, 0, 2)", "index_out_of_range"),
        ("x.diagonal_scatter(x)", "shape_mismatch"),
        ("v[0].diag_embed()", "index_out_of_range"),
        ("v.diag_embed(0, 1, 1)", "shape_mismatch"),
        ("c.diag()", "shape_mismatch"),
        ("v[0].diag()", "shape_mismatch"),
        ("v.tril()", "shape_mismatch"),
        ("v.triu()", "shape_mismatch"),
    ],
)
def test_errors_are_of_torchs_kind(text: str, kind: str) -> None:
    assert raised(text, x=X, c=C, v=X[0]) == (kind, kind)
