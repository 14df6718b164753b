"""What is iterated over must be finite: LAPACK would search for ever, in C, where nothing interrupts it."""

from __future__ import annotations

import subprocess
import sys
from math import inf, nan

import numpy as np
import pytest

from gradcheck.autograd import ops
from gradcheck.autograd.ops.common.lapack import ITERATED, NOT_FINITE
from gradcheck.errors import DomainError

ENDLESS = np.array([[-inf, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
BROKEN = {
    "one infinity": ENDLESS,
    "infinities": np.full((3, 3), inf),
    "nan": np.array([[1.0, 2.0, 3.0], [nan, 5.0, 6.0], [7.0, 8.0, 9.0]]),
    "in a batch": np.stack([np.eye(3), ENDLESS]),
}
#: Further arguments with which these iterate.
FURTHER = {"linalg.lstsq": (np.ones((3, 2)),), "linalg.norm": (2,), "linalg.matrix_norm": ("nuc",), "norm": ("nuc",)}


def arguments(op: str, matrix: np.ndarray) -> tuple[object, ...]:
    if op == "linalg.lstsq":
        return matrix, np.ones((*matrix.shape[:-1], 2))
    if op == "norm" and matrix.ndim > 2:
        return matrix, "nuc", (-2, -1)
    if op == "linalg.norm" and matrix.ndim > 2:
        return matrix, 2, (-2, -1)
    return matrix, *FURTHER.get(op, ())


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("op", ITERATED)
def test_only_finite_matrices_are_iterated_over(op: str, what: str, dtype: str) -> None:
    matrix = BROKEN[what].astype(dtype)
    with pytest.raises(DomainError, match=NOT_FINITE):
        getattr(ops, op)(*arguments(op, matrix))


@pytest.mark.parametrize("op", ["linalg.eigh", "linalg.eigvalsh"])
def test_a_triangle_that_is_not_read_may_hold_anything(op: str) -> None:
    below, above = np.array([[1.0, nan], [3.0, 0.5]]), np.array([[1.0, 3.0], [inf, 0.5]])
    for one, other in zip(
        *(map(np.atleast_1d, getattr(ops, op)(*given)) for given in ((below,), (above, "U"))), strict=True
    ):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("op", ["cofactors", "det_hessian"])
def test_derivatives_of_determinants_are_nan(op: str) -> None:
    for broken in BROKEN.values():
        found = getattr(ops, op)(*([broken] if op == "cofactors" else [broken, np.ones_like(broken)]))
        assert np.isnan(found.reshape(-1, 3, 3)[-1]).all()
    batch = np.stack([np.array([[2.0, 1.0, 0.0], [0.5, 3.0, 1.0], [1.0, 0.0, 1.5]]), ENDLESS])
    np.testing.assert_allclose(ops.cofactors(batch)[0], ops.cofactors(batch[0]))


def test_a_gradient_of_a_determinant_ends() -> None:
    text = (
        "import numpy as np; from gradcheck.autograd.tensor import Tensor; from gradcheck.autograd import ops;"
        "x = Tensor(np.array([[-np.inf, 2., 3.], [4., 5., 6.], [7., 8., 9.]]), requires_grad=True);"
        "ops.det(x).backward(); print(np.isnan(x.grad.data).all())"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "True\n"
