"""Arithmetic modulo a prime, against Python integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.oracles.exact import modular_arithmetic

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


def test_whole_numbers() -> None:
    assert modular_arithmetic.as_integers(np.array([2.0, -3.0])).tolist() == [2, -3]
    for value in (0.5, np.inf, -np.inf, np.nan, 2.0**63, 2.0**62):
        assert modular_arithmetic.as_integers(np.array([1.0, value])) is None
