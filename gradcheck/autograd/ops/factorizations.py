"""Factorizations: Cholesky's, and the singular value decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.dtype_sets import FULL_FLOATING
from gradcheck.autograd.op import op
from gradcheck.autograd.ops.common import lapack
from gradcheck.autograd.ops.common.arguments import require_floating, require_full_precision, require_matrices
from gradcheck.autograd.ops.complex_numbers import real
from gradcheck.autograd.ops.creation import ones_like
from gradcheck.autograd.ops.diagonals_triangles import diag_embed, diagonal, tril
from gradcheck.autograd.ops.indexing import narrow
from gradcheck.autograd.ops.inverse_solve import solve
from gradcheck.autograd.ops.shape_casts import squeeze, unsqueeze
from gradcheck.autograd.ops.transpose_flip import mH, mT


def _cholesky_rule(g: Any, y: Any, input: Any, upper: bool) -> Any:
    """Murray: Differentiation of the Cholesky decomposition, 2016."""
    adjoint, back = (y, mH(g)) if upper else (mH(y), g)
    phi = tril(adjoint @ back)
    half = solve(adjoint, (phi + mH(tril(phi, -1))) / 2)
    return mH(solve(adjoint, mH(half)))


@op(
    _cholesky_rule,
    name="linalg.cholesky",
    symmetric=True,
    rounds=True,
    aliases=("cholesky",),
    holomorphic=False,
    samples="""
        {}(tensor([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]]));
        {}(tensor([[4.0, 1.0], [1.0, 3.0]]), upper=True);
        {}(tensor([[[4.0, 1.0], [1.0, 3.0]], [[2.0, -1.0], [-1.0, 2.0]]])); {}(randn(0, 0))
    """,
)
def cholesky(input: Any, *, upper: bool = False) -> Any:
    """The lower (or upper) L with `L @ L.mH = input`. Raises DomainError.

    Only that triangle is read, but the gradient is symmetric (Hermitian), as in torch: for changes that keep the matrix
    symmetric.
    """
    return lapack.cholesky(require_full_precision(input, "linalg.cholesky"), upper=upper)


def svd_parts(packed: Any, A: Any) -> tuple[Any, Any, Any]:
    """Return U, S and V^H, or their cotangents, of `svd_packed`'s result."""
    rows, columns = A.shape[-2:]
    values = real(squeeze(narrow(packed, -1, rows, 1), -1))
    return mT(narrow(packed, -1, 0, rows)), values, narrow(packed, -1, rows + 1, columns)


def _minus_adjoint(x: Any) -> Any:
    return x - mH(x)


def _packed_rule(g: Any, y: Any, A: Any) -> Any:
    """Townsend: Differentiating the singular value decomposition, 2016.

    The complex term is by Wan and Zhang: Automatic differentiation for complex valued SVD, 2019. Valid for distinct
    singular values, and where the result does not depend on the phases of singular vectors.
    """
    rows, columns = A.shape[-2:]
    (u, s, vh), (gu, gs, gvh) = svd_parts(y, A), svd_parts(g, A)
    gaps = unsqueeze(s * s, -2) - unsqueeze(s * s, -1) + diag_embed(ones_like(s))
    turned = _minus_adjoint(mH(u) @ gu)
    inner = diag_embed(gs) + turned / gaps * unsqueeze(s, -2) + unsqueeze(s, -1) * (_minus_adjoint(vh @ mH(gvh)) / gaps)
    if A.dtype.kind == "c":
        inner = inner + diag_embed(diagonal(turned, 0, -2, -1) / (2 * s))
    total = u @ inner @ vh
    if rows > columns:
        outside = gu / unsqueeze(s, -2)
        total = total + (outside - u @ (mH(u) @ outside)) @ vh
    if columns > rows:
        outside = gvh / unsqueeze(s, -1)
        total = total + u @ (outside - (outside @ mH(vh)) @ vh)
    return total


@op(_packed_rule, torch="", method=False, holomorphic=False, kinks="equal singular values")
def svd_packed(A: Any) -> Any:
    """U^T, S and V^H side by side in one array."""
    u, s, vh = lapack.svd(A, full_matrices=False)
    return np.concatenate([np.swapaxes(u, -1, -2), s[..., None], vh], axis=-1)


def _values_rule(g: Any, y: Any, A: Any) -> Any:
    u, _, vh = svd_parts(svd_packed(A), A)
    return (u * unsqueeze(g, -2)) @ vh


@op(
    _values_rule,
    name="linalg.svdvals",
    method=False,
    holomorphic=False,
    kinks="equal singular values",
    dtypes={"A": FULL_FLOATING},
    samples="""
        {}(randn(2, 3)); {}(randn(3, 2)); {}(randn(2, 3, 3)); {}(complex(randn(3, 2), randn(3, 2))); {}(eye(3));
        {}(randn(0, 2))
    """,
)
def svdvals(A: Any) -> Any:
    """The singular values of each matrix, largest first."""
    require_floating("linalg.svdvals", require_matrices(A, "linalg.svdvals").dtype)
    return lapack.svdvals(A)
