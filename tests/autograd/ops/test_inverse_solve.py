"""Inverses, solutions and powers: singular, empty, complex, bad shapes."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import ops
from gradcheck.autograd.dtypes import BFLOAT16
from gradcheck.errors import DomainError
from tests.autograd.ops.both import agree, normal, raised

S = normal(3, 3) + 4 * np.eye(3)
COMPLEX = S + 1j * normal(3, 3, seed=1)
NAMES: dict[str, np.ndarray] = {
    "x": normal(2, 3),
    "v": normal(3),
    "s": S,
    "b": normal(2, 3, 3, seed=2) + 4 * np.eye(3),
    "c": normal(2, 3, 4),
    "f": normal(3, 2).astype(np.float32),
    "k": np.eye(3, dtype=np.int64),
    "o": np.zeros((2, 2)),
}


@pytest.mark.parametrize(
    "text",
    [
        "linalg.inv(s)",
        "b.inverse()",
        "linalg.inv(b[:0])",
        "linalg.inv(s[:0, :0])",
        "linalg.solve(s, v)",
        "linalg.solve(s, x.T)",
        "linalg.solve(s, c)",
        "linalg.solve(b, v)",
        "linalg.solve(b, x)",
        "linalg.solve(b, c)",
        "linalg.solve(b, c[0])",
        "linalg.solve(s, x, left=False)",
        "linalg.solve(b, x[:1], left=False)",
        "linalg.solve(b[0], c.mT, left=False)",
        "linalg.solve(s, x.T[:, :0])",
        "linalg.solve_triangular(s, x.T, upper=True)",
        "linalg.solve_triangular(s, x.T, upper=False, unitriangular=True)",
        "linalg.solve_triangular(b, x, upper=True, left=False)",
        "linalg.pinv(x)",
        "linalg.pinv(c)",
        "linalg.pinv(s)",
        "linalg.matrix_power(s, 5)",
        "linalg.matrix_power(b, 2)",
        "linalg.matrix_power(s, 0)",
        "linalg.matrix_power(s, -3)",
        "s.matrix_power(2)",
    ],
)
def test_values_and_gradients(text: str) -> None:
    agree(text, rtol=1e-11, **NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "linalg.inv(z)",
        "linalg.solve(z, z[0])",
        "linalg.solve(z, z.mH, left=False)",
        "linalg.pinv(z[:2])",
        "linalg.pinv(z[:, :2])",
        "linalg.matrix_power(z, -2)",
    ],
)
def test_complex(text: str) -> None:
    agree(text, rtol=1e-11, z=COMPLEX)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("linalg.inv(x)", "shape_mismatch"),
        ("linalg.inv(v)", "shape_mismatch"),
        ("linalg.inv(o)", "domain_error"),
        ("linalg.inv(k)", "dtype_mismatch"),
        ("linalg.solve(x, v)", "shape_mismatch"),
        ("linalg.solve(s, x)", "shape_mismatch"),
        ("linalg.solve(s, v, left=False)", "shape_mismatch"),
        ("linalg.solve(s, f)", "dtype_mismatch"),
        ("linalg.solve(o, x)", "domain_error"),
        ("linalg.solve_triangular(s, v, upper=True)", "shape_mismatch"),
        ("linalg.solve_triangular(x, x, upper=True)", "shape_mismatch"),
        ("linalg.matrix_power(x, 2)", "shape_mismatch"),
        ("linalg.matrix_power(o, -1)", "domain_error"),
        ("linalg.pinv(v)", "shape_mismatch"),
    ],
)
def test_errors_are_of_torchs_kind(text: str, kind: str) -> None:
    assert raised(text, **NAMES) == (kind, kind)


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16])
def test_half_precision_is_refused_as_in_torch(dtype: np.dtype) -> None:
    assert raised("linalg.inv(x)", x=np.eye(2).astype(dtype)) == ("dtype_mismatch", "dtype_mismatch")


def test_singular_matrices_are_named() -> None:
    with pytest.raises(DomainError, match=r"linalg\.inv: the matrix is singular"):
        ops.inv(np.zeros((2, 2)))


def test_a_power_takes_few_products() -> None:
    matrix = np.array([[1.0, 1.0], [1.0, 0.0]])
    assert ops.matrix_power(matrix, 70)[0, 1] == 190392490709135
