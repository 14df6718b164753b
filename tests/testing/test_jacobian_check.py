"""A function with its own Jacobian, as SciPy and OpenMDAO take them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der, rosen_hess  # type: ignore[import-untyped]
from scipy.sparse import csr_array, diags_array  # type: ignore[import-untyped]
from scipy.sparse.linalg import LinearOperator  # type: ignore[import-untyped]

from gradcheck.errors import UsageError
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


NUMBERS = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: np.full(3, np.nan), "nothing is finite near x"),
        (lambda x: np.append(x[:2] ** 2, np.inf), "nothing is finite near x"),
        (lambda x: np.where(x == X, 1.0, np.nan), "some entries have no derivative"),
        (lambda x: NUMBERS.standard_normal(3), "varies from call to call"),
        (lambda x: x**2 + 1e-6 * NUMBERS.standard_normal(3), "varies from call to call"),
    ],
)
def test_a_function_that_differences_say_nothing_of_fails(function: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_jacobian(function, lambda x: np.zeros((3, 3)), x=X)


@pytest.mark.parametrize(
    ("function", "jacobian", "given", "words"),
    [
        (np.square, lambda x: np.ones((3, 3)), {"x": X, "atol": np.inf}, "atol inf"),
        (np.square, lambda x: np.ones((3, 3)), {"x": X, "rtol": np.inf}, "rtol is inf"),
        (np.square, lambda x: np.ones((0, 0)), {"x": np.ones(0)}, "no element"),
        (lambda x: x[:0], lambda x: np.ones((0, 3)), {"x": X}, "no element"),
        (lambda x: x**2 * (1 + 5j), lambda x: np.diag(2 * x), {"x": X}, r"function\(x\) is complex"),
        (lambda x: x**2 + (x != X) * 1j, lambda x: np.diag(2 * x), {"x": X}, r"function\(x\) is complex"),
        (np.square, lambda x: np.diag(2 * x) * (1 + 5j), {"x": X}, r"jacobian\(x\) is complex"),
        (np.square, lambda x: np.diag(2 * x), {"x": X * 1j}, "x is complex"),
    ],
)
def test_a_call_that_could_not_fail_is_refused(function: Any, jacobian: Any, given: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_jacobian(function, jacobian, **given)


def test_constants_and_complex_numbers_without_an_imaginary_part_pass() -> None:
    check_jacobian(lambda x: np.full(3, 0.1), lambda x: np.zeros((3, 3)), x=X)
    check_jacobian(lambda x: np.round(x), lambda x: np.zeros((3, 3)), x=X)
    check_jacobian(lambda x: x**2 + 0j, lambda x: np.diag(2 * x), x=X)
    with np.errstate(all="ignore"):
        check_jacobian(np.sqrt, lambda x: np.diag(0.5 / np.sqrt(x)), x=[0.0, 1.0, 2.0])


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0])
def test_at_a_kink_each_slope_between_the_sides_is_right(slope: float) -> None:
    at = np.array([-1.0, 0.0, 2.0])
    check_jacobian(lambda x: np.maximum(x, 0), lambda x: np.diag(np.where(x == 0, slope, x > 0)), x=at)
    with pytest.raises(AssertionError, match="worst at \\[1, 1\\]"):
        check_jacobian(lambda x: np.maximum(x, 0), lambda x: np.diag(np.where(x == 0, slope + 1.1, x > 0)), x=at)


def test_a_zero_slope_at_a_minimum_is_no_kink() -> None:
    check_jacobian(lambda x: x**2, lambda x: np.diag(2 * x), x=np.zeros(2))
    with pytest.raises(AssertionError):
        check_jacobian(lambda x: x**2, lambda x: np.diag(2 * x) + 1e-4, x=np.zeros(2))
