"""Chains of matrices modulo a prime, against Python integers."""

from __future__ import annotations

import gc
import weakref
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.oracles.exact.modular_arithmetic import PRIMES
from gradcheck.oracles.exact.modular_matrices import MAX_FACTORS, DiagonalMatrix, MatrixChain, ModularMatrix, ones

PRIME = PRIMES[0]


def array(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def matrices(sizes: list[int], seed: int) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.integers(0, PRIME, shape) for shape in pairwise(sizes)]


def dense(factors: list[np.ndarray]) -> np.ndarray:
    product = reduce(lambda a, b: a @ b % PRIME, [factor.astype(object) for factor in factors])
    return product.astype(np.int64)


def chain(factors: list[np.ndarray]) -> MatrixChain:
    return reduce(lambda a, b: a @ b, [MatrixChain((ModularMatrix(factor, PRIME),)) for factor in factors])


@settings(max_examples=40)
@given(st.lists(st.integers(1, 12), min_size=2, max_size=8), st.integers(0, 2**32))
def test_a_chain_is_the_product(sizes: list[int], seed: int) -> None:
    factors = matrices(sizes, seed)
    product = chain(factors)
    assert product.shape == (sizes[0], sizes[-1])
    assert np.array_equal(product.dense(), dense(factors))
    assert np.array_equal(product.dense(), dense(factors))  # and once more, of what is kept


@given(st.lists(st.integers(1, 6), min_size=2, max_size=6), st.integers(0, 2**32))
def test_its_transpose(sizes: list[int], seed: int) -> None:
    factors = matrices(sizes, seed)
    assert np.array_equal(chain(factors).T.dense(), dense(factors).T)


def test_another_shape_is_given_to_the_product() -> None:
    factors = matrices([1, 5, 7], 4)
    reshaped = chain(factors).reshape((7,))
    assert reshaped.shape == (7,)
    assert np.array_equal(reshaped.dense(), dense(factors)[0])


def test_large_factors_on_either_side() -> None:
    """Both ways of cutting into limbs, with as many bits as there can be and fewer."""
    for sizes in ([3, 300, 200], [200, 300, 3], [90, 70, 80], [1, 1000, 1], [40, 5000, 2], [300, 1, 200]):
        factors = matrices(sizes, sum(sizes))
        assert np.array_equal(chain(factors).dense(), dense(factors))


def test_a_transpose_shares_what_is_known() -> None:
    matrix = ModularMatrix(matrices([3, 4], 0)[0], PRIME)
    assert matrix.T.T is matrix
    centred = matrix.centred
    assert np.shares_memory(matrix.T.centred, centred)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32))
def test_products_with_ones_are_sums(rows: int, columns: int, seed: int) -> None:
    (matrix,) = matrices([rows, columns], seed)
    left, right = (ones(*shape, PRIME) for shape in ((1, rows), (columns, 1)))
    whole = ModularMatrix(matrix, PRIME)
    assert np.array_equal((left @ whole).residues, matrix.sum(0, keepdims=True) % PRIME)
    assert np.array_equal((whole @ right).residues, matrix.sum(1, keepdims=True) % PRIME)
    assert np.array_equal((left @ left.T).residues, [[rows % PRIME]])
    assert np.array_equal((left.T @ right.T).residues, np.ones((rows, columns)))
    assert (left.T @ left).shape == (rows, rows)
    assert left._products is right._products is None  # what all share keeps nothing of any


def test_a_product_with_a_vector_is_made_once() -> None:
    matrix, other = (ModularMatrix(factor, PRIME) for factor in matrices([3, 4, 5], 5))
    row = ones(1, 3, PRIME)
    assert (row @ matrix) @ other is (row @ matrix) @ other
    assert matrix @ other is not matrix @ other  # matrices are not kept


def test_long_chains_are_multiplied_out() -> None:
    factors = matrices([2] * (3 * MAX_FACTORS), 1)
    product = chain(factors)
    assert len(product.factors) <= MAX_FACTORS
    assert np.array_equal(product.dense(), dense(factors))


def test_doubling_does_not_grow() -> None:
    matrix = matrices([2, 2], 2)[0]
    square, want = MatrixChain((ModularMatrix(matrix, PRIME),)), matrix
    for _ in range(40):
        square, want = square @ square, dense([want, want])
    assert np.array_equal(square.dense(), want)
    assert len(square.factors) <= MAX_FACTORS


def test_a_vector_is_multiplied_first() -> None:
    """In the cheapest order no product of two square matrices is made."""
    n, made = 40, []
    multiply = ModularMatrix.__matmul__

    class Watched(ModularMatrix):
        def __matmul__(self, other: ModularMatrix) -> ModularMatrix:
            product = multiply(self, other)
            made.append(product.shape)
            return Watched(product.residues, PRIME)

    factors = matrices([n, n, n, n, 1], 3)
    product = MatrixChain(tuple(Watched(factor, PRIME) for factor in factors))
    assert np.array_equal(product.dense(), dense(factors))
    assert made == [(n, 1)] * 3


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 30), min_size=2, max_size=5), st.lists(st.integers(1, 30), max_size=3), st.integers(0, 99)
)
def test_a_sum_of_chains(sizes: list[int], inner: list[int], seed: int) -> None:
    one, other = matrices(sizes, seed), matrices([sizes[0], *inner, sizes[-1]], seed + 1)
    want = (dense(one) + dense(other)) % PRIME
    for left, right in ((one, other), (other, one)):
        found = chain(left).plus(chain(right))
        assert np.array_equal(found.dense() if isinstance(found, MatrixChain) else found, want)


def test_a_sum_of_narrow_chains_stays_narrow() -> None:
    one, other = matrices([40, 30, 2, 40, 50], 1), matrices([40, 1, 50], 2)
    first, second = chain(one), chain(other)
    found = first.plus(second)
    assert isinstance(found, MatrixChain)
    assert [factor.shape for factor in found.factors] == [(40, 3), (3, 50)]
    assert np.array_equal(found.dense(), (dense(one) + dense(other)) % PRIME)
    assert np.array_equal(first.dense(), dense(one))
    assert isinstance(chain(matrices([40, 30, 40], 3)).plus(chain(matrices([40, 1, 40], 4))), np.ndarray)


@pytest.mark.parametrize("shapes", [((3, 3), None), (None, (3, 3)), ((1, 3), None), (None, (3, 1)), (None, None)])
def test_products_with_diagonal_matrices(shapes: tuple[tuple[int, int] | None, tuple[int, int] | None]) -> None:
    generator = np.random.default_rng(0)

    def factor(shape: tuple[int, int] | None) -> ModularMatrix:
        if shape is None:
            return DiagonalMatrix(generator.integers(PRIME, size=3), PRIME)
        return ModularMatrix(generator.integers(PRIME, size=shape), PRIME)

    left, right = map(factor, shapes)
    plain = [ModularMatrix(one.residues, PRIME) for one in (left, right)]
    assert np.array_equal((left @ right).residues, (plain[0] @ plain[1]).residues)
    assert all(np.array_equal(one.T.residues, one.residues.T) for one in (left, right))


def test_a_diagonal_matrix_between_ones() -> None:
    diagonal = DiagonalMatrix(array([2, 3, PRIME - 1]), PRIME)
    assert (ones(1, 3, PRIME) @ diagonal).residues.tolist() == [[2, 3, PRIME - 1]]
    assert (diagonal @ ones(3, 1, PRIME)).residues.tolist() == [[2], [3], [PRIME - 1]]


def test_a_matrix_and_its_transpose_make_no_circle() -> None:
    matrix = ModularMatrix(array([1, 2]).reshape(1, 2), PRIME)
    assert matrix.T.T is matrix
    gone = weakref.ref(matrix)
    gc.disable()
    try:
        transpose = matrix.T
        del matrix
        assert gone() is None
        assert transpose.T.residues.tolist() == [[1, 2]]
    finally:
        gc.enable()
