"""Factorizations: triangles, complex and equal values, errors."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import Tensor, ops
from gradcheck.autograd.dtypes import BFLOAT16
from tests.autograd.ops.both import agree, normal, raised, refused

S = normal(3, 3) + 4 * np.eye(3)
Z = S + 1j * normal(3, 3, seed=1)
B = normal(2, 3, 3, seed=2) + 4 * np.eye(3)


@pytest.mark.parametrize(
    "text",
    [
        "linalg.cholesky(s @ s.T)",
        "linalg.cholesky(s @ s.T, upper=True)",
        "linalg.cholesky(b @ b.mT)",
        "linalg.cholesky(z @ z.mH)",
        "linalg.cholesky(z @ z.mH, upper=True)",
        "linalg.svdvals(z[:2])",
        "linalg.svdvals(b)",
    ],
)
def test_values_and_gradients(text: str) -> None:
    agree(text, rtol=1e-11, s=S, z=Z, b=B)


def test_only_one_triangle_is_read_but_the_gradient_is_symmetric() -> None:
    matrix = Tensor(np.tril(S @ S.T), requires_grad=True)
    factor = ops.TABLE["linalg.cholesky"](matrix)
    np.testing.assert_allclose(factor.data @ factor.data.T, S @ S.T)
    factor.backward(normal(3, 3))
    assert matrix.grad is not None
    np.testing.assert_allclose(matrix.grad.data, matrix.grad.data.T)


def test_the_sum_of_equal_singular_values_has_a_gradient() -> None:
    eye = Tensor(np.eye(3), requires_grad=True)
    ops.sum(ops.TABLE["linalg.svdvals"](eye)).backward()
    assert eye.grad is not None
    np.testing.assert_allclose(eye.grad.data, np.eye(3), atol=1e-15)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("linalg.cholesky(x)", "shape_mismatch"),
        ("linalg.cholesky(-s @ s.T)", "domain_error"),
    ],
)
def test_errors_are_of_torchs_kind(text: str, kind: str) -> None:
    assert raised(text, x=normal(2, 3), s=S) == (kind, kind)


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16])
def test_half_precision_is_refused_as_in_torch(dtype: np.dtype) -> None:
    assert raised("linalg.cholesky(x)", x=np.eye(2).astype(dtype)) == ("dtype_mismatch", "dtype_mismatch")


def test_vectors_have_no_singular_values() -> None:
    assert refused("linalg.svdvals(randn(3))") == ("shape_mismatch", "shape_mismatch")
