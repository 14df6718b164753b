"""Floats as the numbers that somebody meant."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcheck.autograd.dtypes import BFLOAT16
from gradcheck.oracles.exact import exact_constants, modular_arithmetic
from gradcheck.oracles.exact.exact_constants import fraction, residue, surd
from gradcheck.oracles.exact.field_point import FieldPoint

PRIMES = modular_arithmetic.PRIMES


def at(prime: int = PRIMES[0]) -> FieldPoint:
    return FieldPoint(prime, 99)


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**5))
def test_fractions(top: int, bottom: int) -> None:
    assert fraction(top / bottom) == Fraction(top, bottom)


@given(st.decimals(-1000, 1000, places=6))
def test_decimals(number: object) -> None:
    assert fraction(float(str(number))) == Fraction(str(number))


@pytest.mark.parametrize("number", [1e-8, 1e-12, 0.1, 2.5, 1e10, 123456.789, -0.7, 1 / 3, -2 / 7, 1 / 60000])
def test_simple_numbers(number: float) -> None:
    point = at()
    simple = fraction(number)
    assert simple is not None
    assert float(simple) == number
    assert residue(point, number) * simple.denominator % point.prime == simple.numerator % point.prime
    assert not point.uninterpreted


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float16), BFLOAT16])
@pytest.mark.parametrize(
    "meant", [Fraction(1, 3), Fraction(2, 7), Fraction(4, 5), Fraction(-1, 10), Fraction(1, 4), Fraction(5)]
)
def test_in_lower_precision_a_third_is_a_third(dtype: np.dtype, meant: Fraction) -> None:
    """0.333251953125, the third of half precision, is no decimal that somebody wrote."""
    number = float(np.asarray(float(meant)).astype(dtype))
    assert fraction(number, dtype) == meant
    point = at()
    assert residue(point, number, dtype) * meant.denominator % point.prime == meant.numerator % point.prime


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float16), BFLOAT16])
def test_in_lower_precision_no_fraction_is_taken_for_a_decimal(dtype: np.dtype) -> None:
    """A twelfth, computed, and 0.0833, written, are one number of half precision: neither is what is meant for sure."""
    meant = {Fraction(top, bottom) for bottom in range(1, 31) for top in range(1, bottom)}
    for one in meant:
        number = float(np.asarray(float(one)).astype(dtype))
        assert fraction(number, dtype) in (one, None) or one.denominator > exact_constants._LARGEST_DENOMINATOR[dtype]
    assert fraction(float(np.float16(1 / 12)), np.dtype(np.float16)) is None


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float16), BFLOAT16])
def test_in_lower_precision_others_are_not_simple(dtype: np.dtype) -> None:
    found = [fraction(float(np.asarray(n).astype(dtype)), dtype) for n in (math.pi * 100, 0.7316925, math.sqrt(2) / 10)]
    assert None in found


@pytest.mark.parametrize("number", [math.pi, math.sqrt(2), math.log(2), 0.1234567890123457, math.e])
def test_others_are_not_simple(number: float) -> None:
    assert fraction(number) is None


@pytest.mark.parametrize("prime", PRIMES)
@pytest.mark.parametrize("square", [2, 3, 5, 6, 8, 12, 30, 0.5, 2 / 3])
def test_roots(square: float, prime: int) -> None:
    point = at(prime)
    root = residue(point, math.sqrt(square))
    simple = fraction(square)
    assert simple is not None
    assert root * root * simple.denominator % prime == simple.numerator % prime
    assert root * residue(point, 1 / math.sqrt(square)) % prime == 1
    assert residue(point, -math.sqrt(square)) == prime - root


def test_roots_multiply() -> None:
    point = at()
    two, three, six = (residue(point, math.sqrt(n)) for n in (2, 3, 6))
    assert two * three % point.prime == six


def test_a_root_that_is_not_there_has_a_name() -> None:
    primes = [p for p in PRIMES if pow(23, (p - 1) // 2, p) != 1]
    assert primes
    point = at(primes[0])
    residue(point, math.sqrt(23))
    assert point.uninterpreted == {"sqrt(23)"}


def test_powers_of_pi_are_related() -> None:
    point = at()
    pi, root, density = (residue(point, n) for n in (math.pi, math.sqrt(math.pi), 1 / math.sqrt(2 * math.pi)))
    assert root * root % point.prime == pi
    assert density * density * 2 * pi % point.prime == 1
    assert residue(point, 2 / math.sqrt(math.pi)) * root % point.prime == 2


def test_rounded_numbers_are_told() -> None:
    point = at()
    number = 0.1234567890123457
    assert surd(number) is None
    exact = Fraction(number)
    assert residue(point, number) * exact.denominator % point.prime == exact.numerator % point.prime
    assert point.uninterpreted == {"rounded numbers"}


def test_random_numbers_are_no_roots() -> None:
    generator = np.random.default_rng(0)
    assert all(surd(number) is None and fraction(number) is None for number in generator.random(3000).tolist())


def test_infinities() -> None:
    point = at()
    assert residue(point, math.inf) == residue(point, math.inf) != residue(point, -math.inf)


def test_no_number_modulo_its_denominator() -> None:
    with pytest.raises(ZeroDivisionError):
        residue(FieldPoint(101, 0), 1 / 101)


@given(st.integers(1, 10**6))
def test_factors(number: int) -> None:
    assert math.prod(factor**times for factor, times in exact_constants.prime_factors(number)) == number


def test_what_a_file_writes_out_is_that_number() -> None:
    assert exact_constants.decimal_fraction(1.000000000005) == Fraction("1.000000000005")
    assert exact_constants.decimal_fraction(0.70710678118655) is None  # a root, cut off
    assert exact_constants.decimal_fraction(0.12345678901234567) is None
