"""Inverses, pseudo-inverses, powers and linear systems of matrices.

Rules of the inverse and of solutions: Giles, Collected matrix derivative results for forward and reverse mode
algorithmic differentiation, 2008.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import FULL_FLOATING
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.common import lapack
from gradcheck.autograd.ops.common.arguments import (
    BATCH,
    REGULAR,
    require_floating,
    require_full_precision,
    require_matrices,
    require_square,
)
from gradcheck.autograd.ops.common.dims import require_integer, unbroadcast
from gradcheck.autograd.ops.diagonals_triangles import diag_embed, diagonal, tril, triu
from gradcheck.autograd.ops.matrix_products import matmul
from gradcheck.autograd.ops.shape_casts import reshape, squeeze, unsqueeze
from gradcheck.autograd.ops.transpose_flip import mH
from gradcheck.errors import ShapeMismatch


@op(
    lambda g, y, x: -(y.mT @ g @ y.mT),
    name="linalg.inv",
    rounds=True,
    aliases=("inverse",),
    latex="#^{-1}",
    samples=f"linalg.inv({REGULAR}); inverse({BATCH}); linalg.inv(randn(0, 0)); linalg.inv(randn(2, 0, 3, 3))",
    analytic=True,
)
def inv(A: Any) -> Any:
    """The inverse of a square matrix. Raises DomainError if singular."""
    return lapack.inv(require_full_precision(A, "linalg.inv"))


@composite(name="inv", torch="linalg.inv", latex="#^{-1}", samples=f"inv({REGULAR})")
def short_inv(A: Any) -> Any:
    """`linalg.inv` by a short name, which torch itself does not have."""
    return inv(A)


def _pinv_rule(g: Any, y: Any, x: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    """Golub and Pereyra: The differentiation of pseudo-inverses, 1973.

    Valid where the rank is constant.
    """
    h, back = mH(g), mH(y)
    inner = -(back @ g @ back)
    left = h @ y - x @ (y @ (h @ y))
    right = y @ h - ((y @ h) @ y) @ x
    return inner + left @ back + back @ right


@op(
    _pinv_rule,
    name="linalg.pinv",
    aliases=("pinverse",),
    holomorphic=False,
    kinks="changes of rank",
    dtypes={"input": FULL_FLOATING},
    samples=f"""
        linalg.pinv({REGULAR}); linalg.pinv(randn(2, 4)); linalg.pinv(randn(4, 2)); linalg.pinv(randn(2, 3, 2))
    """,
)
def pinv(input: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """The pseudo-inverse; singular values below atol or rtol count as 0."""
    require_floating("linalg.pinv", require_matrices(input, "linalg.pinv").dtype)
    if atol is None:
        return lapack.pinv(input, rtol=rtol, hermitian=hermitian)
    largest = np.max(lapack.svdvals(input), axis=-1, initial=np.finfo(input.dtype).tiny)
    return lapack.pinv(input, rtol=np.maximum(rtol or 0, np.asarray(atol) / largest), hermitian=hermitian)


@composite(
    name="linalg.matrix_power",
    aliases=("matrix_power",),
    samples=f"""
        linalg.matrix_power(randn(3, 3), 3); linalg.matrix_power(randn(2, 3, 3), 2);
        linalg.matrix_power(randn(2, 2), 1); linalg.matrix_power(randn(2, 2), 0); linalg.matrix_power({REGULAR}, -2)
    """,
)
def matrix_power(input: Any, n: int) -> Any:
    """The nth power of a square matrix, of its inverse for n < 0."""
    exponent = require_integer(n, "the exponent")
    require_square(input, "linalg.matrix_power")
    if exponent == 0:
        identity = diag_embed(ops.ones_like(diagonal(input, 0, -2, -1)))
        return ops.where(identity == identity, identity, input)  # the gradient is zeros, as in torch, not none
    factor = inv(input) if exponent < 0 else input
    power, left = None, abs(exponent)
    while left:
        if left & 1:
            power = factor if power is None else matmul(power, factor)
        left >>= 1
        if left:
            factor = matmul(factor, factor)
    return power


def _is_vector(A: Any, B: Any) -> bool:
    """Return whether `B` holds vectors, by torch's rule."""
    return B.ndim == 1 or (B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1]))


def _solve_A(g: Any, y: Any, A: Any, B: Any, left: bool) -> Any:
    back = _solve_adjoint(g, A, B, left)
    if _is_vector(A, B):
        return -unbroadcast(unsqueeze(back, -1) * unsqueeze(y, -2), A)
    return -unbroadcast(back @ y.mT if left else y.mT @ back, A)


def _solve_adjoint(g: Any, A: Any, B: Any, left: bool) -> Any:
    """Return the cotangent of `B`, before unbroadcasting."""
    if _is_vector(A, B):
        return squeeze(solve(A.mT, unsqueeze(g, -1)), -1)
    return solve(A.mT, g, left=left)


@op(
    (_solve_A, lambda g, y, A, B, left: unbroadcast(_solve_adjoint(g, A, B, left), B)),
    name="linalg.solve",
    rounds=True,
    method=False,
    uniform=True,
    samples=f"""
        linalg.solve({REGULAR}, randn(3, 2)); linalg.solve({REGULAR}, randn(3)); linalg.solve({BATCH}, randn(2, 2));
        linalg.solve({BATCH}, randn(2, 2, 3)); linalg.solve({BATCH}, randn(2, 3), left=True);
        linalg.solve({REGULAR}, randn(2, 3), left=False); linalg.solve({REGULAR}, randn(4, 3, 2));
        linalg.solve({BATCH}, randn(5, 1, 3, 2), left=False); linalg.solve(randn(0, 0), randn(0, 2))
    """,
    analytic=True,
)
def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """The X with `A @ X = B`, or `X @ A = B`. DomainError if singular."""
    require_full_precision(A, "linalg.solve")
    vector = _is_vector(A, B)
    right = B[..., None] if vector else B
    if vector and not left:
        raise ShapeMismatch(f"linalg.solve: {list(B.shape)} holds vectors, which stand on the right of matrices alone")
    if right.shape[-2 if left else -1] != A.shape[-1]:
        raise ShapeMismatch(f"linalg.solve: {list(B.shape)} does not go with matrices of {list(A.shape)}")
    if not left:
        return lapack.solve(np.swapaxes(A, -1, -2), np.swapaxes(right, -1, -2)).swapaxes(-1, -2)
    found = lapack.solve(A, right)
    return found[..., 0] if vector else found


@composite(
    name="linalg.solve_triangular",
    samples=f"""
        linalg.solve_triangular({REGULAR}, randn(3, 2), upper=True);
        linalg.solve_triangular({REGULAR}, randn(2, 3), upper=False, left=False);
        linalg.solve_triangular({BATCH}, randn(2, 2, 3), upper=False, unitriangular=True)
    """,
)
def solve_triangular(input: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """The X with `T @ X = B`, or `X @ T = B`, for a triangle T of `input`."""
    require_square(input, "linalg.solve_triangular")
    if B.ndim < 2:
        raise ShapeMismatch(f"linalg.solve_triangular takes matrices B, not a shape of {list(B.shape)}")
    matrices = reshape(B, (1,) * (input.ndim - B.ndim) + tuple(B.shape)) if B.ndim < input.ndim else B
    offset = int(unitriangular)
    triangle = triu(input, offset) if upper else tril(input, -offset)
    if unitriangular:
        triangle = triangle + diag_embed(ops.ones_like(diagonal(input, 0, -2, -1)))
    return solve(triangle, matrices, left=left)
