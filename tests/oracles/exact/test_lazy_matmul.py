"""Chains of matrices against products that are multiplied out in Python's integers."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.lazy_matmul import MAX_FACTORS, MatrixChain, ModularMatrix

PRIME = modular.PRIMES[1]


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
