"""Determinants of singular matrices, and their logarithms."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gradcheck import Tensor, ops
from gradcheck.autograd import grad
from gradcheck.autograd.dtypes import BFLOAT16
from tests.autograd.ops.both import agree, normal, raised


def of_rank(rank: int, size: int, *, imaginary: bool = False) -> np.ndarray:
    left, right = normal(size, rank), normal(rank, size, seed=1)
    if imaginary:
        return (left + 1j * normal(size, rank, seed=2)) @ right
    return left @ right


def minors(matrix: np.ndarray) -> np.ndarray:
    """The cofactors by their definition."""
    size = len(matrix)
    found = np.empty_like(matrix)
    for i in range(size):
        for j in range(size):
            rest = np.delete(np.delete(matrix, i, 0), j, 1)
            found[i, j] = (-1) ** (i + j) * (np.linalg.det(rest) if rest.size else 1)
    return found


def gradient(matrix: np.ndarray) -> np.ndarray:
    leaf = Tensor(matrix, requires_grad=True)
    ops.det(leaf).backward(np.array(1, dtype=matrix.dtype))
    assert leaf.grad is not None
    return leaf.grad.data


@pytest.mark.parametrize("imaginary", [False, True])
@pytest.mark.parametrize(("rank", "size"), [(4, 4), (3, 4), (2, 4), (0, 4), (1, 2), (0, 1), (1, 1)])
def test_gradients_of_any_rank_are_cofactors(rank: int, size: int, imaginary: bool) -> None:
    matrix = of_rank(rank, size, imaginary=imaginary)
    np.testing.assert_allclose(gradient(matrix), np.conj(minors(matrix)), rtol=1e-11, atol=1e-11)


def test_integers_with_zero_determinant() -> None:
    matrix = np.arange(1.0, 10.0).reshape(3, 3)
    np.testing.assert_allclose(gradient(matrix), [[-3, 6, -3], [6, -12, 6], [-3, 6, -3]], rtol=1e-13)


def test_regular_and_singular_in_one_batch() -> None:
    batch = np.stack([of_rank(3, 3), of_rank(2, 3), np.zeros((3, 3))])
    leaf = Tensor(batch, requires_grad=True)
    ops.det(leaf).backward(np.array([1.0, -2.0, 3.0]))
    assert leaf.grad is not None
    want = [1, -2, 3] * np.stack([minors(m) for m in batch]).transpose(1, 2, 0)
    np.testing.assert_allclose(leaf.grad.data, want.transpose(2, 0, 1), rtol=1e-12, atol=1e-14)


def test_large_regular_ones_agree_with_torch() -> None:
    agree("det(x)", rtol=1e-11, x=normal(60, 60))
    agree("slogdet(x)", rtol=1e-11, x=normal(60, 60))


@pytest.mark.parametrize("rank", [4, 3, 2, 1])
def test_second_derivatives_of_any_rank(rank: int) -> None:
    """Five-point differences are exact for minors, polynomials of degree 3."""
    matrix, probe, step = of_rank(rank, 4), normal(4, 4, seed=5), normal(4, 4, seed=6)
    leaf = Tensor(matrix, requires_grad=True)
    (first,) = grad(ops.det(leaf), leaf, create_graph=True)
    assert first is not None
    (second,) = grad(first, leaf, probe)
    assert second is not None
    near, far = (minors(matrix + h * step) - minors(matrix - h * step) for h in (0.5, 1))
    slope = np.vdot(probe, 8 * near - far) / 6
    np.testing.assert_allclose(np.vdot(second.data, step), slope, rtol=1e-10, atol=1e-12)


def test_third_derivatives_of_regular_matrices() -> None:
    matrix, probes = normal(3, 3), (normal(3, 3, seed=1), normal(3, 3, seed=2))
    mine, theirs = Tensor(matrix, requires_grad=True), torch.from_numpy(matrix).requires_grad_()
    (found,) = grad(ops.det(mine), mine, create_graph=True)
    (wanted,) = torch.autograd.grad(torch.det(theirs), theirs, create_graph=True)
    for probe in probes:
        assert found is not None
        (found,) = grad(found, mine, Tensor(probe), create_graph=True)
        (wanted,) = torch.autograd.grad(wanted, theirs, torch.from_numpy(probe), create_graph=True)
    assert found is not None
    np.testing.assert_allclose(found.data, wanted.detach().numpy(), rtol=1e-11)


def test_logarithms() -> None:
    positive = normal(3, 3) @ normal(3, 3).T + np.eye(3)
    agree("logdet(x)", x=positive)
    agree("linalg.slogdet(x)[1] * linalg.slogdet(x)[0]", x=np.stack([-positive, positive]))
    z = positive + 1j * normal(3, 3)
    agree("logdet(x)", x=z)
    agree("slogdet(x)", x=np.stack([z, z.T * 1j]))
    assert np.isnan(ops.logdet(-positive))
    assert ops.logdet(np.zeros((2, 2))) == -np.inf
    assert ops.slogdet(np.eye(400) * 1e10)[1] == pytest.approx(400 * np.log(1e10))


@pytest.mark.parametrize("op", ["det", "linalg.det", "slogdet", "logdet"])
def test_errors_are_of_torchs_kind(op: str) -> None:
    assert raised(f"{op}(x)", x=normal(2, 3)) == ("shape_mismatch", "shape_mismatch")
    assert raised(f"{op}(x)", x=normal(3)) == ("shape_mismatch", "shape_mismatch")
    assert raised(f"{op}(x)", x=np.eye(2, dtype=np.int64)) == ("dtype_mismatch", "dtype_mismatch")


@pytest.mark.parametrize("op", ["linalg.det", "slogdet", "logdet"])
@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16])
def test_half_precision_is_refused_as_in_torch(op: str, dtype: np.dtype) -> None:
    assert raised(f"{op}(x)", x=np.eye(2).astype(dtype)) == ("dtype_mismatch", "dtype_mismatch")
