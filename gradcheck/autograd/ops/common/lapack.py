"""NumPy's linear algebra for ops; iterative routines need finite numbers.

Iterations for singular values and eigenvalues may never end at infinite elements, in C, where nothing interrupts them.
Direct methods compute NaN there and are NumPy's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.linalg import LinAlgError, cholesky, det, inv, qr, slogdet, solve

__all__ = [
    "LinAlgError", "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "pinv", "qr", "slogdet", "solve",
    "svd", "svdvals",
]  # fmt: skip

Triangle = Literal["L", "U"]
#: Why a matrix is refused, after the name of an op.
NOT_FINITE = "the matrix has infinite or NaN elements"


def _given(A: Any, *_: Any) -> tuple[Any, ...]:
    return (A,)


def _given_with_right_side(input: Any, b: Any, *_: Any) -> tuple[Any, ...]:
    return input, b


def _triangle(A: Any, UPLO: str) -> tuple[Any, ...]:
    return (A.tril() if str(UPLO).upper() == "L" else A.triu(),)


def _of_conditions(A: Any, p: Any) -> tuple[Any, ...]:
    return (A,) if p in (None, "nuc", 2, -2) else ()


def _of_norms(A: Any, ord: Any, *_: Any) -> tuple[Any, ...]:
    return (A,) if ord in ("nuc", 2, -2) else ()


def _of_either_norms(A: Any, ord: Any, dim: Any, *_: Any) -> tuple[Any, ...]:
    of_matrix = len(dim) == 2 if isinstance(dim, (list, tuple)) else dim is None and A.ndim == 2
    return _of_norms(A, ord) if of_matrix or ord == "nuc" else ()


def _of_nuclear_norms(input: Any, p: Any, *_: Any) -> tuple[Any, ...]:
    return (input,) if p == "nuc" else ()


#: By the name of an op that iterates, its tensors that must be finite, of its arguments in order. An engine that calls
#: another LAPACK checks them.
ITERATED: dict[str, Callable[..., tuple[Any, ...]]] = {
    **dict.fromkeys(("linalg.svd", "svd", "linalg.svdvals", "linalg.pinv", "linalg.eig", "linalg.eigvals"), _given),
    **dict.fromkeys(("linalg.eigh", "linalg.eigvalsh"), _triangle),
    "linalg.lstsq": _given_with_right_side,
    "linalg.cond": _of_conditions,
    "linalg.matrix_norm": _of_norms,
    "linalg.norm": _of_either_norms,
    "norm": _of_nuclear_norms,
}


def _finite(A: Any) -> Any:
    """Return the matrices. Raises LinAlgError if an element is not finite."""
    if not np.isfinite(np.asarray(A)).all():
        raise LinAlgError(NOT_FINITE)
    return A


def _with_finite_triangle(A: Any, UPLO: Triangle) -> Any:
    """Return the matrices, checking the triangle that is read."""
    _finite((np.tril if UPLO == "L" else np.triu)(np.asarray(A)))
    return A


def svd(A: Any, full_matrices: bool = True) -> Any:
    """U, S and V^H."""
    return np.linalg.svd(_finite(A), full_matrices=full_matrices)


def svdvals(A: Any) -> Any:
    """The singular values, largest first."""
    return np.linalg.svd(_finite(A), compute_uv=False)


def pinv(A: Any, *, rtol: Any, hermitian: bool) -> Any:
    """The pseudo-inverse."""
    return np.linalg.pinv(_finite(A), rtol=rtol, hermitian=hermitian)


def eig(A: Any) -> Any:
    """Eigenvalues and eigenvectors."""
    return np.linalg.eig(_finite(A))


def eigvals(A: Any) -> Any:
    """Eigenvalues."""
    return np.linalg.eigvals(_finite(A))


def eigh(A: Any, UPLO: Triangle) -> Any:
    """Eigenvalues and eigenvectors of symmetric matrices."""
    return np.linalg.eigh(_with_finite_triangle(A, UPLO), UPLO)


def eigvalsh(A: Any, UPLO: Triangle) -> Any:
    """Eigenvalues of symmetric matrices."""
    return np.linalg.eigvalsh(_with_finite_triangle(A, UPLO), UPLO)
