"""Linear algebra on matrices and batches of them: inverses, solutions, determinants, factors, powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import HALVES
from gradcheck.autograd.op import TABLE, composite, op
from gradcheck.autograd.ops.dims import integer
from gradcheck.autograd.ops.kinds import require_floating
from gradcheck.autograd.ops.matrix import diag_embed, diagonal, tril, triu
from gradcheck.autograd.ops.order import mH
from gradcheck.autograd.ops.products import matmul
from gradcheck.autograd.ops.shape import reshape, squeeze, unsqueeze
from gradcheck.errors import DtypeMismatch, ShapeMismatch

#: Matrices far from singular, for examples.
REGULAR = "tensor([[3.0, 1.0, -0.5], [0.4, -2.0, 1.0], [1.5, 0.3, 2.5]])"
BATCH = "tensor([[[2.0, 0.5], [-1.0, 1.5]], [[1.0, -2.0], [0.7, 3.0]]])"


def square(A: Any, name: str) -> Any:  # noqa: N803
    """`A`, if it is a square matrix of floating or complex numbers, or a batch of these."""
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ShapeMismatch(f"{name} takes square matrices, not a shape of {list(A.shape)}")
    require_floating(name, A)
    return A


def precise(A: Any, name: str) -> Any:  # noqa: N803
    """A square matrix that is not in half precision, which torch refuses to factorize."""
    if square(A, name).dtype in HALVES:
        raise DtypeMismatch(f"{name} does not take half precision ({A.dtype})", hint="convert it: x.float()")
    return A


# Inverse and solution ------------------------------------------------------------------------------


@op(
    lambda g, y, x: -(y.mT @ g @ y.mT),
    name="linalg.inv",
    rounds=True,
    aliases=("inverse",),
    samples=(
        f"linalg.inv({REGULAR})",
        f"inverse({BATCH})",
        "linalg.inv(randn(0, 0))",
        "linalg.inv(randn(2, 0, 3, 3))",
    ),
    analytic=True,
)
def inv(A: Any) -> Any:  # noqa: N803
    """The inverse of each square matrix. Raises DomainError for a singular one."""
    return np.linalg.inv(precise(A, "linalg.inv"))


@composite(name="inv", torch="linalg.inv", samples=(f"inv({REGULAR})",))
def short_inv(A: Any) -> Any:  # noqa: N803
    """`linalg.inv`, as it is often written. (In torch it has no short name but `inverse`.)"""
    return inv(A)


def _is_vector(A: Any, B: Any) -> bool:  # noqa: N803
    """Whether `B` holds vectors, not matrices: torch's rule."""
    return B.ndim == 1 or (B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1]))


def _solve_A(g: Any, y: Any, A: Any, B: Any, left: bool = True) -> Any:  # noqa: N802, N803
    back = _solve_back(g, A, B, left)
    if _is_vector(A, B):
        return -_folded(unsqueeze(back, -1) * unsqueeze(y, -2), A)
    return -_folded(back @ y.mT if left else y.mT @ back, A)


def _solve_B(g: Any, y: Any, A: Any, B: Any, left: bool = True) -> Any:  # noqa: N802, N803
    return _folded(_solve_back(g, A, B, left), B)


def _solve_back(g: Any, A: Any, B: Any, left: bool) -> Any:  # noqa: N803
    """The cotangent of `B`, as broadcast: the solution of the transposed system."""
    if _is_vector(A, B):
        return squeeze(solve(A.mT, unsqueeze(g, -1)), -1)
    return solve(A.mT, g, left=left)


def _folded(cotangent: Any, x: Any) -> Any:
    return cotangent if cotangent.shape == x.shape else TABLE["sum_to_size"](cotangent, x.shape)


@op(
    (_solve_A, _solve_B),
    name="linalg.solve",
    rounds=True,
    method=False,
    uniform=True,
    samples=(
        f"linalg.solve({REGULAR}, randn(3, 2))",
        f"linalg.solve({REGULAR}, randn(3))",
        f"linalg.solve({BATCH}, randn(2, 2))",
        f"linalg.solve({BATCH}, randn(2, 2, 3))",
        f"linalg.solve({BATCH}, randn(2, 3), left=True)",
        f"linalg.solve({REGULAR}, randn(2, 3), left=False)",
        f"linalg.solve({REGULAR}, randn(4, 3, 2))",
        f"linalg.solve({BATCH}, randn(5, 1, 3, 2), left=False)",
        "linalg.solve(randn(0, 0), randn(0, 2))",
    ),
    analytic=True,
)
def solve(A: Any, B: Any, *, left: bool = True) -> Any:  # noqa: N803
    """The X with `A @ X = B` (`X @ A = B` unless `left`); `B` holds matrices or vectors. DomainError if singular."""
    precise(A, "linalg.solve")
    vector = _is_vector(A, B)
    right = B[..., None] if vector else B
    if vector and not left:
        raise ShapeMismatch(f"linalg.solve: {list(B.shape)} holds vectors, which stand on the right of matrices alone")
    if right.shape[-2 if left else -1] != A.shape[-1]:
        raise ShapeMismatch(f"linalg.solve: {list(B.shape)} does not go with matrices of {list(A.shape)}")
    if not left:
        return np.linalg.solve(np.swapaxes(A, -1, -2), np.swapaxes(right, -1, -2)).swapaxes(-1, -2)
    found = np.linalg.solve(A, right)
    return found[..., 0] if vector else found


@composite(
    name="linalg.solve_triangular",
    samples=(
        f"linalg.solve_triangular({REGULAR}, randn(3, 2), upper=True)",
        f"linalg.solve_triangular({REGULAR}, randn(2, 3), upper=False, left=False)",
        f"linalg.solve_triangular({BATCH}, randn(2, 2, 3), upper=False, unitriangular=True)",
    ),
)
def solve_triangular(
    input: Any,
    B: Any,  # noqa: N803
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Any:
    """The X with `input @ X = B` (`X @ input = B` unless `left`), for a triangle of `input`."""
    square(input, "linalg.solve_triangular")
    if B.ndim < 2:
        raise ShapeMismatch(f"linalg.solve_triangular takes matrices B, not a shape of {list(B.shape)}")
    matrices = reshape(B, (1,) * (input.ndim - B.ndim) + tuple(B.shape)) if B.ndim < input.ndim else B
    offset = int(unitriangular)
    triangle = triu(input, offset) if upper else tril(input, -offset)
    if unitriangular:
        triangle = triangle + diag_embed(TABLE["ones_like"](diagonal(input, 0, -2, -1)))
    return solve(triangle, matrices, left=left)


def _pinv_rule(g: Any, y: Any, x: Any, rtol: Any = None, hermitian: bool = False) -> Any:
    """Golub and Pereyra: The differentiation of pseudo-inverses, 1973. Right where the rank stays the same."""
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
    samples=(
        f"linalg.pinv({REGULAR})",
        "linalg.pinv(randn(2, 4))",
        "linalg.pinv(randn(4, 2))",
        "linalg.pinv(randn(2, 3, 2))",
    ),
)
def pinv(input: Any, *, rtol: Any = None, hermitian: bool = False) -> Any:
    """Moore and Penrose's pseudo-inverse; singular values below `rtol` times the largest count as 0."""
    if input.ndim < 2:
        raise ShapeMismatch(f"linalg.pinv takes matrices, not a shape of {list(input.shape)}")
    require_floating("linalg.pinv", input)
    return np.linalg.pinv(input, rtol=rtol, hermitian=hermitian)


# Factors and powers --------------------------------------------------------------------------------


def _cholesky_rule(g: Any, y: Any, input: Any, upper: bool = False) -> Any:
    """Murray: Differentiation of the Cholesky decomposition, 2016; the gradient is symmetric (Hermitian)."""
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
    samples=(
        "linalg.cholesky(tensor([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]]))",
        "linalg.cholesky(tensor([[4.0, 1.0], [1.0, 3.0]]), upper=True)",
        "linalg.cholesky(tensor([[[4.0, 1.0], [1.0, 3.0]], [[2.0, -1.0], [-1.0, 2.0]]]))",
        "linalg.cholesky(randn(0, 0))",
    ),
)
def cholesky(input: Any, *, upper: bool = False) -> Any:
    """The lower (or upper) triangular L with `L @ L.mH = input`, for a positive definite one. DomainError for others.

    Only the lower (or upper) triangle is read, but the gradient is the symmetric one, as in torch: that for
    changes that keep the matrix symmetric.
    """
    return np.linalg.cholesky(precise(input, "linalg.cholesky"), upper=upper)


@composite(
    name="linalg.matrix_power",
    aliases=("matrix_power",),
    samples=(
        "linalg.matrix_power(randn(3, 3), 3)",
        "linalg.matrix_power(randn(2, 3, 3), 2)",
        "linalg.matrix_power(randn(2, 2), 1)",
        "linalg.matrix_power(randn(2, 2), 0)",
        f"linalg.matrix_power({REGULAR}, -2)",
    ),
)
def matrix_power(input: Any, n: int) -> Any:
    """The product of n copies of a square matrix, for negative n of its inverse; for 0 the identity."""
    exponent = integer(n, "the exponent")
    square(input, "linalg.matrix_power")
    if exponent == 0:
        identity = diag_embed(TABLE["ones_like"](diagonal(input, 0, -2, -1)))
        return TABLE["where"](identity == identity, identity, input)  # the gradient is zeros, as in torch, not none
    factor = inv(input) if exponent < 0 else input
    power, left = None, abs(exponent)
    while left:
        if left & 1:
            power = factor if power is None else matmul(power, factor)
        left >>= 1
        if left:
            factor = matmul(factor, factor)
    return power
