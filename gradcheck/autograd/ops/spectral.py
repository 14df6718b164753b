"""Singular values. Their gradient needs singular vectors, and its own gradient needs how these turn."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.op import op
from gradcheck.autograd.ops.complex_parts import real
from gradcheck.autograd.ops.creation import ones_like
from gradcheck.autograd.ops.indexing import narrow
from gradcheck.autograd.ops.kinds import require_floating
from gradcheck.autograd.ops.matrix import diag_embed, diagonal
from gradcheck.autograd.ops.order import mH, mT
from gradcheck.autograd.ops.shape import squeeze, unsqueeze
from gradcheck.errors import ShapeMismatch


def _parts(packed: Any, A: Any) -> tuple[Any, Any, Any]:  # noqa: N803
    """U, S and V^H, or their cotangents, out of what `svd_packed` makes."""
    rows, columns = A.shape[-2:]
    values = real(squeeze(narrow(packed, -1, rows, 1), -1))
    return mT(narrow(packed, -1, 0, rows)), values, narrow(packed, -1, rows + 1, columns)


def _skew(x: Any) -> Any:
    return x - mH(x)


def _packed_rule(g: Any, y: Any, A: Any) -> Any:  # noqa: N803
    """Townsend 2016, "Differentiating the singular value decomposition"; complex as in torch's `svd_backward`.

    Valid for what does not depend on the phases of singular vectors; singular values must differ.
    """
    rows, columns = A.shape[-2:]
    (u, s, vh), (gu, gs, gvh) = _parts(y, A), _parts(g, A)
    gaps = unsqueeze(s * s, -2) - unsqueeze(s * s, -1) + diag_embed(ones_like(s))
    turned = _skew(mH(u) @ gu)
    inner = diag_embed(gs) + turned / gaps * unsqueeze(s, -2) + unsqueeze(s, -1) * (_skew(vh @ mH(gvh)) / gaps)
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
def svd_packed(A: Any) -> Any:  # noqa: N803
    """U^T, S and V^H of the singular value decomposition, side by side in one array."""
    u, s, vh = np.linalg.svd(A, full_matrices=False)
    return np.concatenate([np.swapaxes(u, -1, -2), s[..., None], vh], axis=-1)


def _values_rule(g: Any, y: Any, A: Any) -> Any:  # noqa: N803
    u, _, vh = _parts(svd_packed(A), A)
    return (u * unsqueeze(g, -2)) @ vh


@op(
    _values_rule,
    name="linalg.svdvals",
    method=False,
    holomorphic=False,
    kinks="equal singular values",
    samples=(
        "linalg.svdvals(randn(2, 3))",
        "linalg.svdvals(randn(3, 2))",
        "linalg.svdvals(randn(2, 3, 3))",
        "linalg.svdvals(complex(randn(3, 2), randn(3, 2)))",
        "linalg.svdvals(eye(3))",
        "linalg.svdvals(randn(0, 2))",
    ),
)
def svdvals(A: Any) -> Any:  # noqa: N803
    """The singular values of each matrix, largest first."""
    if A.ndim < 2:
        raise ShapeMismatch(f"linalg.svdvals takes matrices, not a shape of {list(A.shape)}")
    require_floating("linalg.svdvals", A)
    return np.linalg.svd(A, compute_uv=False)
