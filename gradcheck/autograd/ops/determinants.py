"""Determinants, with gradients that hold for singular matrices too.

All take batches of matrices, (…, n, n). The derivative is the matrix of cofactors (Jacobi's formula; Magnus and
Neudecker, Matrix differential calculus, 8.3), which is `det(A) * inv(A).mT` only where A is regular. From the singular
value decomposition A = U S V^H it is, for every A, det(U) det(V^H) conj(U) adj(S) V^T, since adj(XYZ) = adj(Z) adj(Y)
adj(X) (Horn and Johnson, Matrix analysis, 0.8.2). adj(S) and its derivative are products of singular values with one or
two left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.common import lapack
from gradcheck.autograd.ops.common.arguments import BATCH, REGULAR, require_full_precision, require_square
from gradcheck.autograd.ops.inverse_solve import inv
from gradcheck.autograd.ops.shape_casts import unsqueeze
from gradcheck.autograd.ops.transpose_flip import mH

_SINGULAR = "tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])"


def _per_matrix(x: Any) -> Any:
    """Shape one number per matrix so that it multiplies the matrix."""
    return unsqueeze(unsqueeze(x, -1), -1)


@op(
    lambda g, y, x: _per_matrix(g) * ops.cofactors(x),
    name="linalg.det",
    rounds=True,
    aliases=("det",),
    samples=f"""
        linalg.det({REGULAR}); det({BATCH}); linalg.det(randn(1, 1)); linalg.det(randn(0, 0));
        linalg.det(randn(0, 2, 2))
    """,
    analytic=True,
)
def det(A: Any) -> Any:
    """The determinant; its gradient is exact for singular matrices too."""
    return lapack.det(require_full_precision(A, "linalg.det"))


def _products_without(values: np.ndarray) -> np.ndarray:
    """`out[..., i, j]`: the product of `values`, (…, n), without i and j."""
    count = values.shape[-1]
    ones = np.ones_like(values[..., :1])
    before = np.concatenate((ones, np.cumprod(values[..., :-1], -1)), -1)
    after = np.concatenate((np.cumprod(values[..., :0:-1], -1)[..., ::-1], ones), -1)
    later = np.triu(np.ones((count, count), dtype=bool), 1)
    between = np.cumprod(np.where(later, values[..., None, :], 1), -1)  # i < k <= j
    between = np.concatenate((np.ones_like(between[..., :1]), between[..., :-1]), -1)  # i < k < j
    upper = np.where(later, before[..., :, None] * between * after[..., None, :], 0)
    both = upper + upper.swapaxes(-1, -2)
    both[..., np.arange(count), np.arange(count)] = before * after
    return both


def _svd_factors(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return U, V^H, the phase, and products without one or two values.

    The phase is NaN for a matrix with infinite or NaN elements.
    """
    finite = np.isfinite(A).all((-2, -1), keepdims=True)
    u, s, vh = lapack.svd(np.where(finite, A, 0))
    phase = (lapack.det(u) * lapack.det(vh))[..., None, None]
    return u, vh, np.where(finite, phase, np.nan), _products_without(s)


#: Ops that torch does not have.
_OWN: dict[str, Any] = {"torch": "", "method": False}


@op(
    lambda g, y, x: ops.det_hessian(x, g),
    **_OWN,
    samples=f"cofactors({REGULAR}); cofactors({_SINGULAR}); cofactors(randn(2, 4, 4)); cofactors(randn(1, 1))",
)
def cofactors(input: Any) -> Any:
    """The matrix of cofactors, which is the gradient of the determinant."""
    if not input.size:
        return np.zeros_like(input)
    u, vh, phase, products = _svd_factors(require_square(input, "cofactors"))
    return phase * (u.conj() * np.diagonal(products, 0, -2, -1)[..., None, :]) @ vh.conj()


def _third_derivative(g: Any, y: Any, x: Any, direction: Any) -> Any:
    """The third derivative of a regular matrix's determinant.

    With B = inv(A).mT, the second is det(A) (<G, B><H, B> - <H, B G^T B>), and dB = -B dA^T B.
    """
    b = inv(x).mT
    p, q = b @ g.mT @ b, b @ direction.mT @ b
    dg, dh = _inner(g, b), _inner(direction, b)
    found = (dg * dh - _inner(g, q)) * b - dg * q - dh * p + q @ g.mT @ b + p @ direction.mT @ b
    return _per_matrix(det(x)) * found


def _inner(x: Any, y: Any) -> Any:
    return ops.sum(x * y, (-2, -1), True)


@op(
    (_third_derivative, lambda g, y, x, direction: ops.det_hessian(x, g)),  # second derivatives commute
    **_OWN,
    samples=f"det_hessian({REGULAR}, randn(3, 3)); det_hessian(randn(3, 1, 3, 3), randn(3, 1, 3, 3))",
)
def det_hessian(input: Any, direction: Any) -> Any:
    """The second derivative of the determinant, applied to `direction`."""
    if not input.size:
        return np.zeros_like(input)
    u, vh, phase, products = _svd_factors(require_square(input, "det_hessian"))
    turned = (u.conj().swapaxes(-1, -2) @ direction @ vh.conj().swapaxes(-1, -2)).swapaxes(-1, -2)
    changed = -turned * products
    on = np.arange(input.shape[-1])
    alone = np.where(np.eye(on.size, dtype=bool), 0, products)
    changed[..., on, on] = (alone @ turned[..., on, on][..., None])[..., 0]
    return phase * (u.conj() @ changed @ vh.conj())


_IN_PARTS: dict[str, Any] = {"holomorphic": False, "rounds": True, "samples": f"{{}}({REGULAR}); {{}}({BATCH})", **_OWN}


@op(lambda g, y, x: _per_matrix(g) * mH(inv(x)), **_IN_PARTS)
def logabsdet(input: Any) -> Any:
    """The logarithm of the determinant's magnitude; -inf if singular."""
    return lapack.slogdet(require_full_precision(input, "slogdet"))[1]


def _sign_rule(g: Any, y: Any, x: Any) -> Any:
    """The phase changes by imag(tr(inv(A) dA)); a real sign is constant."""
    if x.dtype.kind != "c":
        return ops.zeros_like(x)
    return _per_matrix(ops.imag(ops.conj(y) * g) * 1j) * mH(inv(x))


@op(_sign_rule, **_IN_PARTS)
def det_sign(input: Any) -> Any:
    """The determinant divided by its magnitude; 0 for a singular matrix."""
    return lapack.slogdet(require_full_precision(input, "slogdet"))[0]


@composite(
    name="linalg.slogdet",
    aliases=("slogdet",),
    samples=f"linalg.slogdet({REGULAR}); slogdet({BATCH}); linalg.slogdet(randn(0, 0))",
)
def slogdet(A: Any) -> Any:
    """The determinant's sign (or phase) and the logarithm of its magnitude."""
    return det_sign(A), logabsdet(A)


@composite(latex=r"\log\det", samples=f"logdet(tensor([[3.0, 1.0], [0.5, 2.0]])); logdet({BATCH})")
def logdet(input: Any) -> Any:
    """The logarithm of the determinant; NaN where that is negative."""
    sign, magnitude = slogdet(input)
    return ops.log(sign) + magnitude
