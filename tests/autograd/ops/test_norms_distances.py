"""Norms and distances: at zero, of odd orders, what has no norm."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import ops
from tests.autograd.ops.both import (
    agree,
    agree_on_call,
    is_too_large,
    normal,
    refused_as_by_torch,
    refused_by_both,
)


def test_distances_at_zero() -> None:
    zeros = np.zeros((2, 3))
    agree_on_call("cosine_similarity", zeros, normal(2, 3))
    agree_on_call("pairwise_distance", zeros, zeros, eps=0.0)


@pytest.mark.parametrize("order", ["0.5", "1", "2", "3.5", "inf", "-inf"])
def test_vectors_with_zeros_and_ties(order: str) -> None:
    agree(f"linalg.vector_norm(x, {order}, 1)", x=np.array([[3.0, -3.0, 1.0], [0.5, 2.0, -2.0]]))
    agree(f"norm(x, {order})", x=normal(2, 3))


def test_matrix_norms_of_one_matrix_are_ratios_and_sums_of_singular_values() -> None:
    matrix = np.diag([3.0, 4.0])
    norms = {"fro": 5, "nuc": 7, 2: 4, -2: 3, 1: 4, -1: 3, np.inf: 4}
    for order, want in norms.items():
        assert ops.TABLE["linalg.matrix_norm"](matrix, order) == pytest.approx(want)


test_both_refuse_in_the_same_way = refused_by_both(
    ("dtype_mismatch", "linalg.vector_norm(randint(0, 5, [3]))"),
    ("dtype_mismatch", "linalg.vector_norm(randn(3), dtype=torch.float32)"),
    ("index_out_of_range", "linalg.vector_norm(randn(2, 3), 2, 2)"),
    ("shape_mismatch", "linalg.norm(randn(2, 2, 2), 1)"),
    ("shape_mismatch", "linalg.matrix_norm(randn(3))"),
    ("shape_mismatch", "linalg.vector_norm(randn(0), inf)"),
    ("shape_mismatch", "norm(randn(2), 'nuc')"),
)


test_what_torch_refuses_is_refused_for_the_same_reason = refused_as_by_torch(
    "cosine_similarity(x, f)", "cdist(x, z)", "cdist(x, X)", "cdist(x, single)"
)


@pytest.mark.parametrize("text", ["cdist(x, y)", "pairwise_distance(x[:, None], y)"])
def test_nothing_grows_beyond_bounds(text: str) -> None:
    assert is_too_large(text)
