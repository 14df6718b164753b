"""A function with its own Jacobian, as SciPy and OpenMDAO take them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der, rosen_hess  # type: ignore[import-untyped]
from scipy.sparse import csr_array, diags_array  # type: ignore[import-untyped]
from scipy.sparse.linalg import LinearOperator  # type: ignore[import-untyped]

from gradcheck.testing import check_jacobian

W = np.array([[1.0, -2.0, 0.5], [0.3, 2.0, -1.0]])
X = np.array([0.3, -0.7, 1.1])


def layer(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.tanh(W @ x))


def slopes(x: np.ndarray) -> np.ndarray:
    return np.asarray((1 - layer(x) ** 2)[:, None] * W)


def operator(x: np.ndarray, **products: Any) -> LinearOperator:
    full = slopes(x)
    known = {"matvec": lambda v: full @ v, "rmatvec": lambda g: full.T @ g, **products}
    return LinearOperator(full.shape, **known)


def test_right_ones_pass_in_every_form() -> None:
    check_jacobian(layer, slopes, x=X)
    check_jacobian(layer, lambda x: csr_array(slopes(x)), x=X)
    check_jacobian(layer, operator, x=X)
    check_jacobian(rosen, rosen_der, x=X)
    check_jacobian(rosen_der, rosen_hess, x=X)
    check_jacobian(np.sin, lambda x: diags_array(np.cos(x)), x=X)
    check_jacobian(lambda a: a.T, lambda a: np.einsum("il,jk->ijkl", np.eye(3), np.eye(2)), x=W)


@pytest.mark.parametrize(
    ("function", "jacobian", "words"),
    [
        (layer, lambda x: slopes(x).T, ["has shape [3, 2], expected [2, 3]", "transposed"]),
        (layer, lambda x: -slopes(x), ["6 of 6 entries differ", "worst at [", "factor -1"]),
        (layer, lambda x: 2 * slopes(x), ["by differences", "the factor 2"]),
        (np.sin, np.cos, ["has shape [3], expected [3, 3]", "the diagonal as a vector"]),
        (np.cumsum, lambda x: np.eye(3), ["the diagonal alone"]),
        (np.cumsum, lambda x: csr_array(np.tril(np.ones((3, 3))) - np.eye(3)[:, ::-1] * [0, 0, 1]), ["1 of 9 entries"]),
        (
            layer,
            lambda x: slopes(x)[::-1],
            ["6 of 6 entries differ, worst", "the rows stand in another order: 1 and 0"],
        ),
        (
            layer,
            lambda x: slopes(x)[:, [1, 0, 2]],
            ["in columns 0 and 1", "the columns stand in another order: 1, 0 and"],
        ),
        (layer, lambda x: slopes(x) * [1, np.cos(x[0]), 1], ["2 of 6 entries differ, in column 1, worst"]),
        (layer, lambda x: operator(x, rmatvec=lambda g: slopes(x).T @ (g * 2)), ["rmatvec is wrong", "the factor 2"]),
        (layer, lambda x: operator(x, matvec=lambda v: W @ v), ["matvec is wrong"]),
    ],
)
def test_wrong_ones_are_told_with_their_mistake(function: Any, jacobian: Any, words: list[str]) -> None:
    with pytest.raises(AssertionError) as raised:
        check_jacobian(function, jacobian, x=X)
    for word in words:
        assert word in str(raised.value)


def test_a_product_with_the_jacobian_where_its_transpose_belongs_is_named() -> None:
    full = np.array([[1.0, 2.0], [3.0, 4.0]])
    wrong = LinearOperator(full.shape, matvec=lambda v: full @ v, rmatvec=lambda g: full @ g)
    with pytest.raises(AssertionError, match=r"rmatvec is wrong(.|\n)*J @ g where J.T @ g belongs"):
        check_jacobian(lambda x: full @ x, lambda x: wrong, x=[1.0, 2.0])


def test_one_that_is_right_at_the_given_numbers_alone_fails() -> None:
    with pytest.raises(AssertionError, match="at other numbers"):
        check_jacobian(lambda x: x**2, lambda x: np.diag([2.0, 4.0]), x=[1.0, 2.0])


def test_a_column_and_a_single_number_may_leave_out_axes_of_size_1() -> None:
    column = X[:, None]
    check_jacobian(lambda x: np.tanh(W @ x), lambda x: (1 - np.tanh(W @ x) ** 2) * W, column)
    check_jacobian(lambda x: np.sum(x**2), lambda x: 2 * x[None], X)
    with pytest.raises(AssertionError, match="expected"):
        check_jacobian(lambda x: np.sum(x**2), lambda x: np.diag(x), X)
