"""Triangular factorizations: QR, LU with pivots; and their solutions.

Roberts and Roberts: QR and LQ decomposition matrix backpropagation algorithms, 2020; Murray: Differentiation of the
Cholesky decomposition, 2016; Golub and Van Loan: Matrix computations, 2013, 3.4 and 5.1.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import FULL_FLOATING
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.common import lapack
from gradcheck.autograd.ops.common.arguments import BATCH, REGULAR, factor_elements, require_floating, require_matrices
from gradcheck.autograd.ops.common.scipy_functions import scipy_module
from gradcheck.autograd.ops.inverse_solve import solve
from gradcheck.autograd.ops.transpose_flip import mH
from gradcheck.errors import ArgumentError, DtypeMismatch

# QR --------------------------------------------------------------------------------------------------


def _qr_parts(packed: Any, A: Any) -> tuple[Any, Any]:
    rows, columns = A.shape[-2:]
    width = min(rows, columns)
    q = ops.narrow(packed, -1, 0, width)
    return q, ops.narrow(ops.narrow(packed, -1, width, columns), -2, 0, width)


def _qr_rule(g: Any, y: Any, A: Any) -> Any:
    (q, r), (gq, gr) = _qr_parts(y, A), _qr_parts(g, A)
    rows, columns = A.shape[-2:]
    if rows >= columns:
        return _tall(gq, gr, q, r)
    # the further columns of R are Q^H times those of A
    rest, back = ops.narrow(A, -1, rows, columns - rows), ops.narrow(gr, -1, rows, columns - rows)
    first = _tall(gq + rest @ mH(back), ops.narrow(gr, -1, 0, rows), q, ops.narrow(r, -1, 0, rows))
    return ops.cat([first, q @ back], -1)


def _tall(gq: Any, gr: Any, q: Any, r: Any) -> Any:
    inner = ops.triu(gr @ mH(r) - mH(q) @ gq)
    both = inner + mH(inner)
    both = both - ops.diag_embed(ops.diagonal(both, 0, -2, -1) / 2)
    return solve(mH(r), gq + q @ both, left=False)


@op(_qr_rule, torch="", method=False, holomorphic=False, kinks="dependent columns")
def qr_packed(A: Any) -> Any:
    """Q and R side by side in one array, R with rows of zeros below."""
    q, r = lapack.qr(A)
    below = np.zeros((*r.shape[:-2], A.shape[-2] - r.shape[-2], r.shape[-1]), r.dtype)
    return np.concatenate([q, np.concatenate([r, below], axis=-2)], axis=-1)


def _qr_factors(A: Any, mode: str, name: str) -> tuple[Any, Any]:
    require_floating(name, require_matrices(A, name).dtype)
    rows, columns = A.shape[-2:]
    if not min(rows, columns):
        width = rows if mode == "complete" else 0
        eye, nothing = ops.eye(rows, width, dtype=A.dtype), ops.sum(A)  # by which both depend on A
        blank = ops.zeros((*A.shape[:-2], width, columns), dtype=A.dtype)
        return ops.expand(eye, (*A.shape[:-2], rows, width)) + nothing, blank + nothing
    q, r = _qr_parts(qr_packed(A), A)
    if mode != "complete" or rows <= columns:
        return q, r
    whole = lapack.qr(np.asarray(ops.detach(A)), mode="complete")[0][..., columns:]
    blank = ops.zeros((*A.shape[:-2], rows - columns, columns), dtype=A.dtype)
    return ops.cat([q, whole], -1), ops.cat([r, blank], -2)


_QR_KINKS = "dependent columns"


@composite(
    name="linalg.qr", method=False, kinks=_QR_KINKS, dtypes={"A": FULL_FLOATING},
    samples="{}(randn(3, 2)); {}(randn(2, 3)); {}(randn(2, 2, 2))",
    elements=lambda A, mode: factor_elements(A, mode == "complete"),
)  # fmt: skip
def qr(A: Any, mode: str = "reduced") -> Any:
    """Q and the upper triangular R with `A = Q @ R`; "r" leaves Q out."""
    if mode not in ("reduced", "complete", "r"):
        raise ArgumentError(f"linalg.qr has no mode {mode!r}", hint="one of 'reduced', 'complete', 'r'")
    q, r = _qr_factors(A, mode, "linalg.qr")
    return (ops.zeros([0], dtype=A.dtype), r) if mode == "r" else (q, r)


@composite(
    name="qr", kinks=_QR_KINKS, dtypes={"input": FULL_FLOATING}, samples="qr(randn(3, 2)); randn(2, 2).qr()",
    elements=lambda input, some: factor_elements(input, not some),
)  # fmt: skip
def short_qr(input: Any, some: bool = True) -> Any:
    """`linalg.qr`, complete unless `some`."""
    return _qr_factors(input, "reduced" if some else "complete", "qr")


# LU --------------------------------------------------------------------------------------------------


def _lu_rule(g: Any, y: Any, A: Any, pivots: Any) -> Any:
    """Pull back L and U, made square by ones, then restore the order of rows."""
    rows, columns = A.shape[-2:]
    size = max(rows, columns)
    lower, upper = (_squared(factor, 1, size) for factor in _triangles(y))
    gl, gu = _squared(ops.tril(g, -1), 0, size), _squared(ops.triu(g), 0, size)
    inner = ops.tril(mH(lower) @ gl, -1) + ops.triu(gu @ mH(upper))
    whole = solve(mH(upper), solve(mH(lower), inner), left=False)
    first = ops.narrow(ops.narrow(whole, -2, 0, rows), -1, 0, columns)
    places = ops.unsqueeze(pivoted_rows(pivots, rows), -1)
    return ops.gather(first, -2, ops.expand(places, first.shape))


def _triangles(packed: Any) -> tuple[Any, Any]:
    rows, columns = packed.shape[-2:]
    k = min(rows, columns)
    lower = ops.tril(ops.narrow(packed, -1, 0, k), -1)
    one = ops.to(ops.eye(rows, k), packed.dtype)
    return lower + one, ops.triu(ops.narrow(packed, -2, 0, k))


def _squared(factor: Any, ones: int, size: int) -> Any:
    """Return a factor as a square matrix, its further diagonal of `ones`."""
    rows, columns = factor.shape[-2:]
    if rows == columns == size:
        return factor
    padded = ops.constant_pad_nd(factor, (0, size - columns, 0, size - rows))
    diagonal = ops.to(ops.arange(size) >= min(rows, columns), factor.dtype) * ones
    return padded + ops.diag(diagonal)


def _order(pivots: Any, rows: int) -> np.ndarray:
    """Return the row order of L @ U; LAPACK swaps one row after another."""
    if pivots.dtype.kind not in "iu":
        raise DtypeMismatch(f"pivots are integers, not {pivots.dtype}")
    swaps = np.asarray(pivots).astype(np.int64)
    order = np.broadcast_to(np.arange(rows), (*swaps.shape[:-1], rows)).copy()
    for step in range(swaps.shape[-1]):
        other = swaps[..., step : step + 1] - 1
        held = np.take_along_axis(order, other, -1)
        np.put_along_axis(order, other, order[..., step : step + 1].copy(), -1)
        order[..., step : step + 1] = held
    return order


@op(
    torch="",
    method=False,
    samples="pivoted_rows(tensor([2, 3, 3]), 4)",
    elements=lambda pivots, rows: prod(map(int, pivots.shape[:-1])) * rows,
)
def pivoted_rows(pivots: Any, rows: int) -> Any:
    """The place of each row after successive swaps, counted from 1."""
    return np.argsort(_order(pivots, rows), axis=-1)


@op(torch="", method=False, samples=f"lu_pivots({REGULAR})")
def lu_pivots(A: Any) -> Any:
    """The row that each row is swapped with, counted from 1."""
    shape = (*A.shape[:-2], min(A.shape[-2:]))
    if not prod(shape):
        return np.zeros(shape, np.int32)
    found = [_lapack_lu(a)[1] for a in A.reshape(-1, *A.shape[-2:])]
    return np.stack(found).reshape(shape)


def _lapack_lu(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    (getrf,) = scipy_module("linalg").lapack.get_lapack_funcs(("getrf",), (a,))
    packed, pivots, _ = getrf(a)
    return packed, (pivots + 1).astype(np.int32)


@op((_lu_rule, None), torch="", method=False, holomorphic=False, kinks="equal pivots")
def lu_packed(A: Any, pivots: Any) -> Any:
    """L and U in one matrix, for rows in the order of these pivots."""
    if not A.size:
        return np.array(A)
    return np.stack([_lapack_lu(a)[0] for a in A.reshape(-1, *A.shape[-2:])]).reshape(A.shape)


def _factors(A: Any, name: str) -> tuple[Any, Any]:
    require_floating(name, require_matrices(A, name).dtype)
    pivots = lu_pivots(ops.detach(A))
    return lu_packed(A, pivots), pivots


_LU = f"{{}}({REGULAR}); {{}}({BATCH}); {{}}(randn(3, 2)); {{}}(randn(2, 3))"
_PIVOTS = "equal pivots"


@composite(name="linalg.lu_factor", method=False, kinks=_PIVOTS, samples=_LU)
def lu_factor(A: Any, *, pivot: bool = True) -> Any:
    """L and U in one matrix, and pivots counted from 1."""
    return _factors(_require_pivot(A, pivot), "linalg.lu_factor")


def _require_pivot(A: Any, pivot: bool) -> Any:
    if not pivot:
        raise ArgumentError("LU without pivots is nothing that torch does on the CPU")
    return A


@composite(name="linalg.lu_factor_ex", method=False, kinks=_PIVOTS, samples=_LU)
def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """`linalg.lu_factor`, and the first pivot that is 0, or 0 for none."""
    packed, pivots = _factors(_require_pivot(A, pivot), "linalg.lu_factor_ex")
    flat = np.asarray(ops.detach(ops.diagonal(packed, 0, -2, -1))) == 0
    first = np.where(flat.any(-1), flat.argmax(-1) + 1, 0) if flat.shape[-1] else np.zeros(flat.shape[:-1])
    return packed, pivots, ops.tensor(np.asarray(first, np.int32))


@composite(name="lu", kinks=_PIVOTS, samples=f"lu({REGULAR}); lu({BATCH}, True, True)")
def short_lu(A: Any, pivot: bool = True, get_infos: bool = False) -> Any:
    """`linalg.lu_factor`, or with `get_infos` `linalg.lu_factor_ex`."""
    found = lu_factor_ex(A, pivot=pivot)
    return found if get_infos else found[:2]


def _permutation(pivots: Any, rows: int, dtype: Any) -> Any:
    """Return P, for which `P @ (L @ U)` is the matrix."""
    places = ops.unsqueeze(pivoted_rows(ops.detach(pivots), rows), -1)
    return ops.to(places == ops.arange(rows), dtype)


@composite(
    name="linalg.lu", method=False, kinks=_PIVOTS, samples=_LU,
    elements=lambda A, pivot: 2 * factor_elements(A, True),
)  # fmt: skip
def lu(A: Any, *, pivot: bool = True) -> Any:
    """P, L and U with `A = P @ L @ U`."""
    packed, pivots = _factors(_require_pivot(A, pivot), "linalg.lu")
    return (_permutation(pivots, A.shape[-2], A.dtype), *_triangles(packed))


@composite(
    method=False, samples=f"{{}}(linalg.lu_factor({REGULAR})[0], linalg.lu_factor({REGULAR})[1])",
    elements=lambda LU_data, *_: 2 * factor_elements(LU_data, True),
)  # fmt: skip
def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """P, L and U of `linalg.lu_factor`'s result."""
    blank = ops.zeros([0], dtype=LU_data.dtype)
    p = _permutation(LU_pivots, LU_data.shape[-2], LU_data.dtype) if unpack_pivots else blank
    return (p, *_triangles(LU_data)) if unpack_data else (p, blank, blank)


def _lu_solution(packed: Any, pivots: Any, B: Any, left: bool, adjoint: bool) -> Any:
    """Solve by the product of the factors."""
    lower, upper = _triangles(packed)
    p = _permutation(pivots, packed.shape[-2], packed.dtype)
    product = p @ lower @ upper
    return solve(mH(product) if adjoint else product, B, left=left)


_FACTORED = f"linalg.lu_factor({REGULAR})[0], linalg.lu_factor({REGULAR})[1]"


@composite(
    name="linalg.lu_solve", method=False,
    samples=f"{{}}({_FACTORED}, randn(3, 2)); {{}}({_FACTORED}, randn(2, 3), left=False, adjoint=True)",
    elements=lambda LU, *_: factor_elements(LU, True),
)  # fmt: skip
def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """The X with `A @ X = B`, for the factors of A."""
    return _lu_solution(LU, pivots, B, left, adjoint)


@composite(name="lu_solve", dtypes={"input": FULL_FLOATING}, samples=f"lu_solve(randn(3, 2), {_FACTORED})")
def short_lu_solve(input: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """`linalg.lu_solve`, with the right side first."""
    return _lu_solution(LU_data, LU_pivots, input, True, False)
