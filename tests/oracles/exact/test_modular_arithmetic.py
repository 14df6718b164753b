"""Arithmetic modulo a prime, and chains of matrices, against Python integers."""

from __future__ import annotations

import gc
import weakref
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.oracles.exact import modular_arithmetic
from gradcheck.oracles.exact.modular_arithmetic import MAX_FACTORS, DiagonalMatrix, MatrixChain, ModularMatrix

PRIME = modular_arithmetic.PRIMES[0]
SMALLEST = 101
residues = st.integers(0, PRIME - 1)
lists = st.lists(residues, min_size=1, max_size=8)


def array(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize("prime", modular_arithmetic.PRIMES)
def test_primes_are_prime_and_give_small_numbers_roots(prime: int) -> None:
    assert prime < 2**31
    assert all(prime % divisor for divisor in range(2, 46342))
    assert prime % 4 == 3
    for number in (2, 3, 5, 7, 11, 13):
        assert pow(pow(number, (prime + 1) // 4, prime), 2, prime) == number


def test_primes_are_different() -> None:
    assert len(set(modular_arithmetic.PRIMES)) == len(modular_arithmetic.PRIMES)


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=8))
def test_reduce(values: list[int]) -> None:
    assert modular_arithmetic.reduce(array(values), PRIME).tolist() == [value % PRIME for value in values]


@given(lists, st.integers(0, 10**6))
def test_power(values: list[int], exponent: int) -> None:
    assert modular_arithmetic.power(array(values), exponent, PRIME).tolist() == [
        pow(v, exponent, PRIME) for v in values
    ]


@given(st.lists(st.integers(1, PRIME - 1), min_size=1, max_size=8), st.booleans())
def test_inverse(values: list[int], many: bool) -> None:
    repeated = array(values * (60 if many else 1))
    assert np.all(modular_arithmetic.inverse(repeated, PRIME) * repeated % PRIME == 1)


def test_zero_has_no_inverse() -> None:
    with pytest.raises(ZeroDivisionError):
        modular_arithmetic.inverse(array([3, 0]), PRIME)


@given(lists)
def test_centred(values: list[int]) -> None:
    found = modular_arithmetic.centred(array(values), PRIME)
    assert np.all(np.abs(found) <= PRIME // 2)
    assert [int(number) % PRIME for number in found] == values


def exact(a: np.ndarray, b: np.ndarray, prime: int) -> np.ndarray:
    """The product of matrices in Python's integers."""
    return (a.astype(object) @ b.astype(object) % prime).astype(np.int64)


def in_limbs(a: np.ndarray, b: np.ndarray, terms: int) -> np.ndarray:
    """The product of matrices by limbs of the first."""
    whole = modular_arithmetic.centred(b, PRIME)
    return modular_arithmetic.in_limbs(lambda limb: limb @ whole, a, terms, PRIME)


@settings(max_examples=25)
@given(st.integers(1, 7), st.integers(1, 300), st.integers(1, 7), st.integers(0, 2**32))
def test_bilinear(rows: int, terms: int, columns: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    a, b = (generator.integers(0, PRIME, shape) for shape in ((rows, terms), (terms, columns)))
    assert np.array_equal(modular_arithmetic.bilinear(np.matmul, a, b, terms, PRIME), exact(a, b, PRIME))
    assert np.array_equal(modular_arithmetic.in_halves(np.matmul, a, b, PRIME), exact(a, b, PRIME))
    cut = in_limbs(a, b, terms)
    assert np.array_equal(cut, exact(a, b, PRIME))


@pytest.mark.parametrize("terms", [1, 2, 3, 255, 256, 257, 4096, 100_000])
def test_the_largest_residues_do_not_overflow(terms: int) -> None:
    """Sums of the largest products, all of one sign, next to the border at which limbs grow shorter."""
    for value in (PRIME // 2, PRIME // 2 + 1, PRIME - 1):
        a, b = np.full((1, terms), value), np.full((terms, 1), PRIME // 2)
        cut = in_limbs(a, b, terms)
        assert int(cut[0, 0]) == value * (PRIME // 2) * terms % PRIME


@given(st.integers(1, 2**20), residues)
def test_limbs_are_short_and_add_up(terms: int, value: int) -> None:
    parts, bits = modular_arithmetic.limbs(array([value]), terms, PRIME)
    assert all(abs(part[0]) * 2**30 * terms <= 2**53 for part in parts)
    assert sum(int(part[0]) << (bits * i) for i, part in enumerate(parts)) % PRIME == value


def test_sums_that_are_too_long_are_refused() -> None:
    with pytest.raises(OverflowError):
        modular_arithmetic.limbs(array([1]), 2**21, PRIME)


def test_inverses_modulo_a_tiny_prime() -> None:
    a = np.arange(1, 101, dtype=np.int64)
    assert np.array_equal(modular_arithmetic.inverse(a, SMALLEST) * a % SMALLEST, np.ones(100))


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
    left, right = (modular_arithmetic.ones(*shape, PRIME) for shape in ((1, rows), (columns, 1)))
    whole = ModularMatrix(matrix, PRIME)
    assert np.array_equal((left @ whole).residues, matrix.sum(0, keepdims=True) % PRIME)
    assert np.array_equal((whole @ right).residues, matrix.sum(1, keepdims=True) % PRIME)
    assert np.array_equal((left @ left.T).residues, [[rows % PRIME]])
    assert np.array_equal((left.T @ right.T).residues, np.ones((rows, columns)))
    assert (left.T @ left).shape == (rows, rows)
    assert left._products is right._products is None  # what all share keeps nothing of any


def test_a_product_with_a_vector_is_made_once() -> None:
    matrix, other = (ModularMatrix(factor, PRIME) for factor in matrices([3, 4, 5], 5))
    row = modular_arithmetic.ones(1, 3, PRIME)
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
    assert (modular_arithmetic.ones(1, 3, PRIME) @ diagonal).residues.tolist() == [[2, 3, PRIME - 1]]
    assert (diagonal @ modular_arithmetic.ones(3, 1, PRIME)).residues.tolist() == [[2], [3], [PRIME - 1]]


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


def test_whole_numbers() -> None:
    assert modular_arithmetic.as_integers(np.array([2.0, -3.0])).tolist() == [2, -3]
    for value in (0.5, np.inf, -np.inf, np.nan, 2.0**63, 2.0**62):
        assert modular_arithmetic.as_integers(np.array([1.0, value])) is None
