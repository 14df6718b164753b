"""Further linear algebra: least squares, triangular systems, functions.

Al-Mohy and Higham: Computing the Frechet derivative of the matrix exponential, 2009: it is the upper right block of the
exponential of a matrix twice as large.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import FULL_FLOATING, FULL_NUMBERS
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.common import lapack
from gradcheck.autograd.ops.common.arguments import BATCH, REGULAR, require_full_precision, require_matrices
from gradcheck.autograd.ops.common.scipy_functions import scipy_module
from gradcheck.autograd.ops.factorizations import cholesky, svdvals
from gradcheck.autograd.ops.inverse_solve import inv, pinv, solve, solve_triangular
from gradcheck.autograd.ops.matrix_products import chained_elements
from gradcheck.autograd.ops.norms_distances import matrix_norm
from gradcheck.autograd.ops.transpose_flip import mH
from gradcheck.errors import ArgumentError, DomainError, ShapeMismatch

_POSITIVE = "tensor([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]])"
_FACTOR = "tensor([[2.0, 0.3], [0.5, 1.5]])"

# Cholesky's factor -----------------------------------------------------------------------------------


def _infos(A: Any) -> Any:
    return ops.zeros(tuple(A.shape[:-2]), dtype=np.dtype(np.int32))


@composite(name="linalg.cholesky_ex", method=False, samples=f"{{}}({_POSITIVE}); {{}}({_POSITIVE}, upper=True)")
def cholesky_ex(input: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """`linalg.cholesky`, and zeros for success."""
    return cholesky(input, upper=upper), _infos(input)


@composite(dtypes={"input": FULL_FLOATING}, samples=f"{{}}({_FACTOR}); {{}}({_FACTOR}, True)")
def cholesky_inverse(input: Any, upper: bool = False) -> Any:
    """The inverse of a matrix, from a triangle of its Cholesky factor."""
    factor = ops.triu(input) if upper else ops.tril(input)
    return inv(mH(factor) @ factor if upper else factor @ mH(factor))


@composite(
    dtypes={"input": FULL_FLOATING}, samples=f"{{}}(randn(2, 3), {_FACTOR}); randn(2, 1).{{}}({_FACTOR}, upper=True)"
)
def cholesky_solve(input: Any, input2: Any, upper: bool = False) -> Any:
    """The X with `A @ X = input`, of the A whose Cholesky factor is `input2`."""
    factor = mH(ops.triu(input2)) if upper else ops.tril(input2)
    half = solve_triangular(factor, input, upper=False)
    return solve_triangular(mH(factor), half, upper=True)


# What solves -----------------------------------------------------------------------------------------


@composite(name="linalg.inv_ex", method=False, samples=f"{{}}({REGULAR})")
def inv_ex(A: Any, *, check_errors: bool = False) -> Any:
    """`linalg.inv`, and zeros for success."""
    return inv(A), _infos(A)


@composite(name="linalg.solve_ex", method=False, samples=f"{{}}({REGULAR}, randn(3, 2)); {{}}({BATCH}, randn(2, 2, 3))")
def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    """`linalg.solve`, and zeros for success."""
    return solve(A, B, left=left), _infos(A)


@composite(
    dtypes={"input": FULL_FLOATING},
    samples=f"""
        {{}}(randn(3, 2), {REGULAR}); randn(3, 2).{{}}({REGULAR}, upper=False, transpose=True);
        {{}}(randn(2, 1), {BATCH})
    """,
)
def triangular_solve(
    input: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The X with `A @ X = input` (or `A.T @ X`) for a triangle; and `A`."""
    if input.ndim < 2 or A.ndim < 2:
        raise ShapeMismatch(f"triangular_solve takes matrices, not {list(input.shape)} and {list(A.shape)}")
    lead = np.broadcast_shapes(tuple(input.shape[:-2]), tuple(A.shape[:-2]))
    whole = A if tuple(A.shape[:-2]) == lead else ops.expand(A, (*lead, *A.shape[-2:]))
    right = input if tuple(input.shape[:-2]) == lead else ops.expand(input, (*lead, *input.shape[-2:]))
    side, is_upper = (whole.mT, not upper) if transpose else (whole, upper)
    found = solve_triangular(side, right, upper=is_upper, unitriangular=unitriangular)
    return found, ops.clone(whole)


@composite(
    name="linalg.lstsq", method=False, kinks="changes of rank", dtypes={"input": FULL_FLOATING},
    samples="{}(randn(4, 2), randn(4, 3))[0]; {}(randn(2, 4), randn(2, 1))[0]; {}(randn(2, 4, 2), randn(2, 4, 1))[0];"
    "{}(randn(4, 2), randn(4), driver='gelsd')",
)  # fmt: skip
def lstsq(input: Any, b: Any, *, rcond: float | None = None, driver: str | None = None) -> Any:
    """The X that minimizes `norm(input @ X - b)`, the shortest of several.

    Then the squared residual norms, only if there are more rows than columns; the rank, except for the driver "gels";
    and singular values, only for "gelss" and "gelsd".
    """
    how = driver or "gelsy"
    if how not in ("gels", "gelsy", "gelsd", "gelss"):
        raise ArgumentError(f"linalg.lstsq has no driver {how!r}")
    rows, columns = require_matrices(input, "linalg.lstsq").shape[-2:]
    vector = b.ndim == input.ndim - 1
    if tuple(input.shape[:-1]) != tuple(b.shape if vector else b.shape[:-1]):
        raise ShapeMismatch(f"linalg.lstsq: {list(input.shape)} does not go with {list(b.shape)}")
    if not np.isfinite(np.asarray(ops.detach(b))).all():
        raise DomainError(f"linalg.lstsq: {lapack.NOT_FINITE}")
    right = ops.unsqueeze(b, -1) if vector else b
    found = pinv(input, rtol=rcond) @ right
    fixed = np.asarray(ops.detach(input))
    values = lapack.svdvals(fixed)
    limit = (np.finfo(fixed.dtype).eps * max(rows, columns) if rcond is None else rcond) * values.max(
        -1, initial=0, keepdims=True
    )
    rank = np.sum(values > limit, axis=-1).astype(np.int64) if how != "gels" else np.zeros(0, np.int64)
    left = ops.real(ops.narrow(ops.ravel(input), 0, 0, 0))
    if rows > columns and how != "gelsy" and np.all(rank == columns):
        gap = input @ found - right
        left = ops.sum(ops.real(gap * ops.conj(gap)), -2)
    shown = values if how in ("gelsd", "gelss") else np.zeros(0, values.dtype)
    return ops.squeeze(found, -1) if vector else found, left, ops.tensor(rank), ops.tensor(shown)


@composite(
    name="linalg.tensorinv",
    method=False,
    dtypes={"A": FULL_FLOATING},
    samples="{}(reshape(randn(6, 6), (2, 3, 6)), 2); {}(randn(4, 2, 2), ind=1)",
)
def tensorinv(A: Any, ind: int = 2) -> Any:
    """The inverse of `tensordot` with `A` over its first `ind` dimensions."""
    if ind < 1:
        raise ArgumentError(f"linalg.tensorinv takes an ind above 0, not {ind}")
    if A.ndim < ind:
        raise ShapeMismatch(f"linalg.tensorinv: {list(A.shape)} has no {ind} dimensions to begin with")
    first, second = tuple(map(int, A.shape[:ind])), tuple(map(int, A.shape[ind:]))
    if prod(first) != prod(second):
        raise ShapeMismatch(f"linalg.tensorinv: {list(first)} and {list(second)} have different numbers of elements")
    return ops.reshape(inv(ops.reshape(A, (prod(first), prod(second)))), (*second, *first))


@composite(
    name="linalg.tensorsolve", method=False, samples="{}(randn(2, 3, 6), randn(2, 3)); {}(randn(4, 2, 2), randn(4))"
)
def tensorsolve(A: Any, other: Any, dims: Any = None) -> Any:
    """The X with `tensordot(A, X) = other`; `dims` of `A` move to its end."""
    if dims is not None:
        turned = ops.movedim(A, tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
        return tensorsolve(turned, other)
    shape = tuple(map(int, A.shape[other.ndim :]))
    if prod(shape) != prod(map(int, other.shape)):
        raise ShapeMismatch(f"linalg.tensorsolve: {list(A.shape)} does not go with {list(other.shape)}")
    found = solve(ops.reshape(A, (prod(shape), prod(shape))), ops.reshape(other, (prod(shape),)))
    return ops.reshape(found, shape)


# Functions of matrices -------------------------------------------------------------------------------


def _exp_rule(g: Any, y: Any, A: Any) -> Any:
    size = A.shape[-1]
    back = mH(A)
    above = ops.cat([back, g], -1)
    whole = ops.cat([above, ops.cat([ops.zeros_like(A), back], -1)], -2)
    return ops.narrow(ops.narrow(matrix_exp(whole), -2, 0, size), -1, size, size)


@op(
    _exp_rule, aliases=("linalg.matrix_exp",), holomorphic=False,
    latex=r"\exp", samples="{}(randn(2, 2)); {}(randn(2, 1, 1)); {}(zeros(2, 2)); {}(randn(0, 0))",
)  # fmt: skip
def matrix_exp(input: Any) -> Any:
    """The exponential of each matrix: the sum of its powers over factorials."""
    matrix = require_full_precision(input, "matrix_exp")
    if matrix.dtype.char not in "fdFD":
        raise TypeError(f"matrix_exp does not take {matrix.dtype}")
    if not matrix.size:
        return np.array(matrix)
    flat = matrix.reshape(-1, *matrix.shape[-2:])
    return (
        np.stack([scipy_module("linalg").expm(a) for a in flat]).reshape(matrix.shape).astype(matrix.dtype, copy=False)
    )


@composite(name="linalg.vander", method=False, dtypes={"x": FULL_NUMBERS}, samples="{}(randn(3)); {}(randn(2, 3), N=2)",
           elements=lambda x, N: prod(map(int, x.shape)) * (N or int(x.shape[-1]) or 1))  # fmt: skip
def vander(x: Any, *, N: int | None = None) -> Any:
    """The powers 0, 1, … of each number, `N` or as many as there are numbers."""
    if x.ndim < 1 and N is None:
        raise ShapeMismatch("linalg.vander takes at least 1 dimension, or N")
    x = x if x.ndim else ops.reshape(x, (1,))
    count = int(x.shape[-1]) if N is None else N
    if count <= 1:
        raise ArgumentError(f"linalg.vander takes an N above 1, not {count}")
    first = ops.unsqueeze(ops.ones_like(x), -1)
    rest = ops.expand(ops.unsqueeze(x, -1), (*x.shape, max(count - 1, 0)))
    return ops.cumprod(ops.cat([first, rest], -1), -1)


@composite(
    variadic="matrices",
    method=False,
    samples="chain_matmul(randn(2, 3), randn(3, 4), randn(4, 2)); chain_matmul(randn(2, 3))",
    elements=chained_elements,
)
def chain_matmul(matrices: Any) -> Any:
    """`linalg.multi_dot` of matrices, or of one alone."""
    if any(matrix.ndim != 2 for matrix in matrices):
        raise ShapeMismatch(f"chain_matmul takes matrices, not {[list(matrix.shape) for matrix in matrices]}")
    return matrices[0] if len(matrices) == 1 else getattr(ops, "linalg.multi_dot")(matrices)


@composite(
    name="linalg.cond", method=False, kinks="equal singular values",
    dtypes={"A": FULL_FLOATING}, samples=f"{{}}({REGULAR}); {{}}(randn(3, 2)); {{}}(randn(3, 2), -2)",
)  # fmt: skip
def cond(A: Any, p: Any = None) -> Any:
    """The condition number: the norm of the matrix times its inverse's."""
    require_matrices(A, "linalg.cond")
    if p in (None, 2, -2):
        values = svdvals(A)
        first, last = ops.narrow(values, -1, 0, 1), ops.narrow(values, -1, values.shape[-1] - 1, 1)
        return ops.squeeze(last / first if p == -2 else first / last, -1)
    return matrix_norm(A, p) * matrix_norm(inv(A), p)


# Reflections -----------------------------------------------------------------------------------------


def _reflections(vectors: Any, tau: Any) -> list[tuple[Any, Any]]:
    """Return the columns with a unit diagonal, zeros above, and factors."""
    rows = vectors.shape[-2]
    lower = ops.tril(vectors, -1) + ops.to(ops.eye(rows, vectors.shape[-1]), vectors.dtype)
    count = tau.shape[-1]
    return [(ops.narrow(lower, -1, i, 1), ops.unsqueeze(ops.narrow(tau, -1, i, 1), -1)) for i in range(count)]


def _apply_reflections(other: Any, reflections: list[tuple[Any, Any]]) -> Any:
    """Apply the reflections from the left, the last first."""
    for v, t in reversed(reflections):
        other = other - t * (v @ (mH(v) @ other))
    return other


@composite(name="linalg.householder_product", aliases=("orgqr",), method=False, dtypes={"input": FULL_FLOATING},
           samples="{}(randn(3, 2), randn(2)); {}(randn(2, 3, 3), randn(2, 2))")  # fmt: skip
def householder_product(input: Any, tau: Any) -> Any:
    """The first columns of a product of reflections `1 - tau v v^H`."""
    rows, columns = require_matrices(input, "linalg.householder_product").shape[-2:]
    if rows < columns or tau.shape[-1] > columns or tuple(tau.shape[:-1]) != tuple(input.shape[:-2]):
        raise ShapeMismatch(f"linalg.householder_product: {list(input.shape)} and {list(tau.shape)}")
    start = ops.expand(ops.to(ops.eye(rows, columns), input.dtype), (*input.shape[:-2], rows, columns))
    if 0 in tau.shape:
        start = start + ops.sum(ops.narrow(input, -1, 0, 0))  # it depends on the input, as in torch
    return _apply_reflections(start, _reflections(input, tau))


@composite(
    dtypes={"input": FULL_FLOATING},
    samples="ormqr(randn(3, 2), randn(2), randn(3, 4)); ormqr(randn(3, 2), randn(2), randn(2, 3), False, True)",
)
def ormqr(input: Any, input2: Any, input3: Any, left: bool = True, transpose: bool = False) -> Any:
    """`Q @ input3` or `input3 @ Q`, for the Q of the reflections, or Q^T."""
    require_matrices(input, "ormqr"), require_matrices(input3, "ormqr")
    (*lead, rows, columns), size = input.shape, input3.shape[-2 if left else -1]
    if [*input3.shape[:-2], size] != [*lead, rows] or list(input2.shape) != [*lead, min(size, columns)]:
        shapes = f"{list(input.shape)}, {list(input2.shape)} and {list(input3.shape)}"
        raise ShapeMismatch(f"ormqr: shapes {shapes} do not go together")
    other, reflections = input3, _reflections(input, input2)
    if transpose:
        reflections = [(v, ops.conj(t)) for v, t in reversed(reflections)]
    if left:
        return _apply_reflections(other, reflections)
    for v, t in reflections:
        other = other - t * ((other @ v) @ mH(v))
    return other
