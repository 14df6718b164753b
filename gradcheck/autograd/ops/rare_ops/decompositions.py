"""Eigenvalues and eigenvectors, and singular value decompositions.

Vectors are determined only up to signs or phases, and LAPACK's builds differ in these. Here, and of torch's results,
the phases are fixed by `_fix_phases`. In the complex case and at equal values, a gradient is valid only if the loss
does not depend on the choice: compare `U @ diag(S) @ Vh`, or projectors.

Sources: Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation, 2008;
Townsend, Differentiating the singular value decomposition, 2016.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import FULL_FLOATING
from gradcheck.autograd.dtypes import HALVES, complex_of
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.common import lapack
from gradcheck.autograd.ops.common.arguments import factor_elements, require_full_precision, require_matrices
from gradcheck.autograd.ops.factorizations import svd_packed, svd_parts
from gradcheck.autograd.ops.inverse_solve import solve
from gradcheck.autograd.ops.transpose_flip import mH
from gradcheck.errors import ArgumentError

_SYMMETRIC = "tensor([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]])"
_EQUAL = "equal eigenvalues, and signs or phases of the vectors"


def _scales(places: Any) -> Any:
    """Return weights that vectors are unlikely to be orthogonal to."""
    return (places * 0.7548776662466927 + 0.3) % 1 + 0.5


def _fix_phases(vectors: Any, *others: Any) -> tuple[Any, ...]:
    """Turn columns, and others with them, so that a weighted sum is positive."""
    fixed = ops.detach(vectors)
    weights = ops.to(_scales(ops.unsqueeze(ops.arange(vectors.shape[-2]), -1)), fixed.dtype)
    total = ops.sum(fixed * weights, -2, True)
    turn = ops.conj(ops.sgn(ops.where(total == 0, 1, total)))
    return tuple(one * turn for one in (vectors, *others))


def _torch_phase_factor(vectors: Any) -> Any:
    """Return the phase factor of `_fix_phases` for a torch tensor."""
    fixed = vectors.detach()
    weights = fixed.new_tensor(_scales(np.arange(int(fixed.shape[-2]))).tolist())[:, None]
    total = (fixed * weights).sum(-2, True)
    return (total + (total == 0)).sgn().conj().resolve_conj()


def _eig_choice(result: Any) -> Any:
    values, vectors = result
    return values, vectors * _torch_phase_factor(vectors)


def _scale_first_columns(turn: Any, columns: Any) -> Any:
    """Multiply the first columns by `turn`."""
    ones = columns.detach().new_ones((*turn.shape[:-1], columns.shape[-1]))
    return columns * ones.slice_scatter(turn, -1, 0, turn.shape[-1])


def _svd_choice(result: Any) -> Any:
    u, s, vh = result
    u, s, v = _fix_short_svd_phases((u, s, vh.mH))
    return u, s, v.mH


def _fix_short_svd_phases(result: Any) -> Any:
    u, s, v = result
    turn = _torch_phase_factor(u)[..., : s.shape[-1]]
    return _scale_first_columns(turn, u), s, _scale_first_columns(turn, v)


# Symmetric matrices ----------------------------------------------------------------------------------


def _packed_parts(packed: Any, real: bool) -> tuple[Any, Any]:
    """Return the values and vectors of a packed result."""
    size = packed.shape[-2]
    values = ops.squeeze(ops.narrow(packed, -1, 0, 1), -1)
    return (ops.real(values) if real else values), ops.narrow(packed, -1, 1, size)


def _gaps(values: Any) -> Any:
    """Return `values[j] - values[i]`, with 1 on the diagonal."""
    return ops.unsqueeze(values, -2) - ops.unsqueeze(values, -1) + ops.diag_embed(ops.ones_like(values))


def _eigh_rule(g: Any, y: Any, A: Any, UPLO: str) -> Any:
    (values, vectors), (gv, gu) = _packed_parts(y, True), _packed_parts(g, True)
    turned = mH(vectors) @ gu
    off = (turned - mH(turned)) / 2
    inner = ops.diag_embed(gv) + off / _gaps(values)
    return vectors @ inner @ mH(vectors)


@op(
    _eigh_rule, torch="", method=False, symmetric=True, holomorphic=False, kinks=_EQUAL,
)  # fmt: skip
def eigh_packed(A: Any, UPLO: str) -> Any:
    """Eigenvalues (a column) and eigenvectors, of symmetric matrices."""
    values, vectors = lapack.eigh(A, _lapack_triangle(UPLO))
    return np.concatenate([values[..., None], vectors], axis=-1)


def _lapack_triangle(UPLO: str) -> Literal["L", "U"]:
    return "L" if UPLO == "L" else "U"


def _triangle(UPLO: str) -> str:
    if UPLO.upper() not in ("L", "U"):
        raise ArgumentError(f"UPLO is 'L' or 'U', not {UPLO!r}")
    return UPLO.upper()


@composite(name="linalg.eigh", method=False, kinks=_EQUAL, choice=_eig_choice,
           dtypes={"A": FULL_FLOATING}, samples=f"{{}}({_SYMMETRIC}); {{}}({_SYMMETRIC}, 'U')[0]")  # fmt: skip
def eigh(A: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of symmetric (Hermitian) matrices, ascending; vectors.

    Vectors are columns. Only one triangle is read, but the gradient is the symmetric one. Vectors have any sign or
    phase.
    """
    values, vectors = _packed_parts(eigh_packed(_require_factorizable(A, "linalg.eigh"), _triangle(UPLO)), True)
    return values, _fix_phases(vectors)[0]


def _eigvalsh_rule(g: Any, y: Any, A: Any, UPLO: str) -> Any:
    _, vectors = _packed_parts(eigh_packed(A, UPLO), True)
    return (vectors * ops.unsqueeze(g, -2)) @ mH(vectors)


@op(
    _eigvalsh_rule, name="linalg.eigvalsh", method=False, symmetric=True, holomorphic=False,
    kinks="equal eigenvalues", dtypes={"A": FULL_FLOATING}, samples=f"{{}}({_SYMMETRIC}); {{}}({_SYMMETRIC}, UPLO='U')",
)  # fmt: skip
def eigvalsh(A: Any, UPLO: str = "L") -> Any:
    """Ascending eigenvalues of symmetric matrices; symmetric gradient."""
    return lapack.eigvalsh(require_full_precision(A, "linalg.eigvalsh"), _lapack_triangle(_triangle(UPLO)))


def _require_factorizable(A: Any, name: str) -> Any:
    """Return `A` if it can be factorized, else raise; a tensor stays one."""
    if A.ndim < 2 or A.shape[-1] != A.shape[-2] or A.dtype.kind in "biu" or A.dtype in HALVES:
        require_full_precision(np.zeros(A.shape, A.dtype), name)
    return A


# Any square matrices ---------------------------------------------------------------------------------


def _eig_rule(g: Any, y: Any, A: Any) -> Any:
    """Project out the norm, which is 1; the phase is arbitrary."""
    (values, vectors), (gv, gu) = _packed_parts(y, False), _packed_parts(g, False)
    back = mH(vectors)
    turned = back @ gu
    along = ops.unsqueeze(ops.real(ops.diagonal(turned, 0, -2, -1)), -2)
    rest = turned - (back @ vectors) * along
    inner = rest / ops.conj(_gaps(values))
    inner = inner - ops.diag_embed(ops.diagonal(inner, 0, -2, -1)) + ops.diag_embed(gv)
    found = solve(back, inner @ back)
    return found if A.dtype.kind == "c" else ops.real(found)


@op(_eig_rule, torch="", method=False, holomorphic=False, kinks=_EQUAL)
def eig_packed(A: Any) -> Any:
    """Eigenvalues (a column) and eigenvectors, in one complex array."""
    values, vectors = lapack.eig(A)
    return np.concatenate([values[..., None], vectors], axis=-1).astype(complex_of(A.dtype), copy=False)


@composite(name="linalg.eig", method=False, kinks=_EQUAL, choice=_eig_choice,
           dtypes={"A": FULL_FLOATING}, samples="{}(tensor([[1.0, 2.0], [3.0, 0.5]]))")  # fmt: skip
def eig(A: Any) -> Any:
    """Complex eigenvalues in any order, and vectors of norm 1 (columns)."""
    values, vectors = _packed_parts(eig_packed(_require_factorizable(A, "linalg.eig")), False)
    return values, _fix_phases(vectors)[0]


def _eigvals_rule(g: Any, y: Any, A: Any) -> Any:
    _, vectors = _packed_parts(eig_packed(A), False)
    back = mH(vectors)
    found = solve(back, ops.unsqueeze(g, -1) * back)
    return found if A.dtype.kind == "c" else ops.real(found)


@op(
    _eigvals_rule, name="linalg.eigvals", method=False, holomorphic=False, kinks="equal eigenvalues",
    dtypes={"A": FULL_FLOATING}, samples="{}(tensor([[1.0, 2.0], [-3.0, 0.5]])); {}(tensor([[1.0, 2.0], [3.0, 0.5]]))",
)  # fmt: skip
def eigvals(A: Any) -> Any:
    """The eigenvalues of matrices, complex and in no order."""
    return lapack.eigvals(require_full_precision(A, "linalg.eigvals")).astype(complex_of(A.dtype), copy=False)


# Singular values -------------------------------------------------------------------------------------


def _complete_basis(u: Any, size: int) -> Any:
    """Append orthogonal columns; no gradient flows to these."""
    fixed = np.asarray(ops.detach(u))
    whole = lapack.svd(fixed, full_matrices=True)[0] if fixed.shape[-1] else np.broadcast_to(
        np.eye(size, dtype=fixed.dtype), (*fixed.shape[:-2], size, size)
    )  # fmt: skip
    return ops.cat([u, whole[..., u.shape[-1] :]], -1)


_SINGULAR = "equal singular values, and signs or phases of the vectors"


@composite(
    name="linalg.svd", method=False, kinks=_SINGULAR, choice=_svd_choice, dtypes={"A": FULL_FLOATING},
    samples="{}(randn(2, 3), full_matrices=False); {}(randn(3, 2), False); {}(randn(2, 2))[1]",
    elements=lambda A, full_matrices, driver: factor_elements(A, full_matrices),
)  # fmt: skip
def svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """U, S and V^H with `A = U @ diag(S) @ Vh`, values descending."""
    rows, columns = require_matrices(A, "linalg.svd").shape[-2:]
    if not min(rows, columns):
        u, vh = (ops.eye(n, n if full_matrices else 0, dtype=A.dtype) for n in (rows, columns))
        lead = tuple(A.shape[:-2])
        u, vh = (ops.expand(x, (*lead, *x.shape)) + ops.sum(A) for x in (u, vh.T))  # they depend on A
        return u, ops.real(ops.sum(A, -1 if columns == 0 else -2))[..., :0], vh
    u, s, vh = svd_parts(svd_packed(A), A)
    u, v = _fix_phases(u, mH(vh))
    vh = mH(v)
    if full_matrices:
        u = _complete_basis(u, A.shape[-2]) if u.shape[-1] < A.shape[-2] else u
        vh = mH(_complete_basis(mH(vh), A.shape[-1])) if vh.shape[-2] < A.shape[-1] else vh
    return u, s, vh


@composite(
    name="svd", kinks=_SINGULAR, dtypes={"input": FULL_FLOATING}, choice=_fix_short_svd_phases,
    samples="svd(randn(2, 3)); svd(randn(3, 2))[1]",
    elements=lambda input, some, compute_uv: factor_elements(input, not some or not compute_uv),
)  # fmt: skip
def short_svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """U, S and V with `input = U @ diag(S) @ V.mH`; or zeros for U and V."""
    u, s, vh = svd(input, not some)
    if compute_uv:
        return u, s, mH(vh)
    rows, columns = input.shape[-2:]
    lead = tuple(input.shape[:-2])
    return ops.zeros((*lead, rows, rows), dtype=input.dtype), s, ops.zeros((*lead, columns, columns), dtype=input.dtype)
