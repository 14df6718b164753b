"""Rules about rearranging: each on an example."""

from __future__ import annotations

import pytest

from gradcheck.language.symbolic.simplify import rearrangement
from gradcheck.language.symbolic.simplify.simplifier import Rule
from tests.language.symbolic.simplify.examples import alone

EXAMPLES: list[tuple[Rule, str, str]] = [
    (rearrangement.gradient_of_a_root, "grad(s) * x", "ones_like(s) * x"),
    (rearrangement.shape_of_a_gradient, "reshape(y, grad(x).shape)", "reshape(y, x.shape)"),
    (rearrangement.shape_by_name, "reshape(v, (v * 2).shape)", "reshape(v, v.shape)"),
    (rearrangement.like_by_name, "zeros_like(x @ v)", "zeros_like(u)"),
    (rearrangement.size_by_name, "x / (a @ x).shape[1]", "x / x.shape[1]"),
    (rearrangement.reshape_to_itself, "sum_to_size(x, y.shape)", "x"),
    (rearrangement.reshape_to_itself, "expand(x, y.shape)", "x"),
    (rearrangement.vector_rearranged, "movedim(v, 0, -1)", "v"),
    (rearrangement.squeezed_reduction, "squeeze(sum(x, dim=1, keepdim=True), dim=1)", "sum(x, dim=1)"),
    (rearrangement.squeezed_reduction, "reshape(sum(x, dim=0, keepdim=True), v.shape)", "sum(x, dim=0)"),
    (rearrangement.squeezed_reduction, "sum(sum(x, dim=1, keepdim=True), dim=1)", "sum(x, dim=1)"),
    (rearrangement.adjoint_of_added_dim, "index_adjoint(row, (None, slice(None, None)), v.shape)", "sum(row, dim=0)"),
    (rearrangement.adjoint_of_slice, "index_adjoint(v[1:], slice(1, None), v.shape)", "pad(v[1:], [1, 0])"),
    (rearrangement.adjoint_of_slice, "index_adjoint(x[:-1], slice(None, -1), x.shape)", "pad(x[:-1], [0, 0, 0, 1])"),
    (rearrangement.reshape_to_itself, "constant_pad_nd(x, (0, 0))", "x"),
    (rearrangement.identity_product, "eye(n, n) @ x", "x"),
    (rearrangement.identity_product, "x @ eye(m)", "x"),
    (rearrangement.transpose_by_name, "x.mT", "x.T"),
    (rearrangement.transpose_by_name, "transpose(x, 0, 1)", "x.T"),
    (rearrangement.transpose_by_name, "transpose(b, -2, -1)", "b.mT"),
    (
        rearrangement.diagonal_of_a_number,
        "diagonal_scatter(zeros_like(a), -2 * ones_like(u))",
        "-2 * eye(a.shape[0], a.shape[1])",
    ),
    (
        rearrangement.diagonal_of_a_number,
        "diagonal_scatter(zeros_like(a), -ones_like(u) / n)",
        "-eye(a.shape[0], a.shape[1]) / n",
    ),
    (rearrangement.diagonal_of_a_number, "diagonal_scatter(zeros_like(a), u)", "diag(u)"),
    (rearrangement.diagonal_of_a_matrix, "diagonal(a.T, dim1=-2, dim2=-1)", "diagonal(a)"),
    (rearrangement.diagonal_of_a_matrix, "diagonal(x, 1, dim1=-2, dim2=-1)", "diagonal(x, 1)"),
    (rearrangement.transposed_product, "(x.T @ a).T", "a.T @ x"),
    (rearrangement.sum_over_dims, "sum_to_size(x, v.shape)", "sum(x, dim=0)"),
    (rearrangement.sum_over_dims, "sum_to_size(x, row.shape)", "sum(x, dim=0, keepdim=True)"),
    (rearrangement.sum_over_dims, "sum_to_size(b, v.shape)", "sum(b, dim=(0, 1))"),
    (rearrangement.sum_over_dims, "sum_to_size(b, row.shape)", "sum(sum(b, dim=0), dim=0, keepdim=True)"),
    (rearrangement.sum_over_dims, "sum_to_size(x, ())", "sum(x)"),
    (rearrangement.open_slice, "x[0:1]", "x[:1]"),
    (rearrangement.open_slice, "x[:, 1:x.shape[1]]", "x[:, 1:]"),
    (rearrangement.dims_by_keyword, "sum(x, -1, True)", "sum(x, dim=-1, keepdim=True)"),
    (rearrangement.single_dim, "mean(x, dim=None)", "mean(x)"),
    (rearrangement.single_dim, "mean(x, dim=(-1,))", "mean(x, dim=-1)"),
    (rearrangement.einsum_operands, "einsum('ij,j->i', (x, v))", "einsum('ij,j->i', x, v)"),
]


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[f"{r.__name__}: {b}" for r, b, _ in EXAMPLES])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    assert alone(rule, before) == after
