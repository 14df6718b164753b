"""Arithmetic modulo a prime on whole arrays: exact, so that two different polynomials cannot agree by rounding.

Matrix products run on float64 BLAS: one factor is cut into limbs so short that every sum of products stays an integer
below 2^53, where float64 is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, log2
from typing import Any

import numpy as np

#: The five largest primes below 2^31; products of two residues fit into an int64.
PRIMES = (2147483647, 2147483629, 2147483587, 2147483579, 2147483563)

#: A float that is the nearest to a fraction with a denominator up to this is taken for that fraction.
LARGEST_DENOMINATOR = 10_000


def reduce(values: np.ndarray, prime: int) -> np.ndarray:
    """Integers as residues from 0 to `prime - 1`."""
    return np.asarray(values, dtype=np.int64) % prime


def fraction(number: float) -> Fraction:
    """The simplest fraction that this float is nearest to (0.1 is 1/10, not the binary number beside it)."""
    exact = Fraction(number)
    simple = exact.limit_denominator(LARGEST_DENOMINATOR)
    return simple if float(simple) == number else exact


def is_rational(values: np.ndarray) -> bool:
    """Whether every float stands for a simple fraction, and is not some real number rounded, such as `sqrt(2)`."""
    unique = np.unique(np.asarray(values, dtype=np.float64))
    whole = unique[unique != np.rint(unique)]
    return all(float(Fraction(number).limit_denominator(LARGEST_DENOMINATOR)) == number for number in whole.tolist())


def from_floats(values: np.ndarray, prime: int) -> np.ndarray:
    """Finite floats as residues, by the fractions that they stand for."""
    values = np.asarray(values, dtype=np.float64)
    if np.all(values == np.rint(values)) and np.all(np.abs(values) < 2.0**62):
        return reduce(values.astype(np.int64), prime)
    unique, where = np.unique(values, return_inverse=True)
    residues = [(f.numerator * pow(f.denominator, -1, prime)) % prime for f in map(fraction, unique.tolist())]
    return np.array(residues, dtype=np.int64)[where].reshape(values.shape)


def multiply(a: np.ndarray, b: np.ndarray, prime: int) -> np.ndarray:
    """The product, element by element."""
    return np.asarray((a * b) % prime)


def power(base: np.ndarray, exponent: int, prime: int) -> np.ndarray:
    """`base ** exponent`, by squaring; a negative exponent of 0 raises ZeroDivisionError."""
    if exponent < 0:
        return power(inverse(base, prime), -exponent, prime)
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result = multiply(result, base, prime)
        base = multiply(base, base, prime)
        exponent >>= 1
    return result


def inverse(values: np.ndarray, prime: int) -> np.ndarray:
    """`1 / values`, by Fermat's little theorem. Raises ZeroDivisionError where there is a 0."""
    if not np.all(values):
        raise ZeroDivisionError("0 has no inverse")
    return power(values, prime - 2, prime)


def centred(values: np.ndarray, prime: int) -> np.ndarray:
    """Residues as floats from -prime/2 to prime/2."""
    return np.where(values > prime // 2, values - prime, values).astype(np.float64)


def bilinear(
    form: Callable[[np.ndarray, np.ndarray], Any], a: np.ndarray, b: np.ndarray, terms: int, prime: int
) -> np.ndarray:
    """`form(a, b)` modulo `prime`, for a form that adds up to `terms` products into each of its elements."""
    whole = centred(b, prime)
    return in_limbs(lambda limb: form(limb, whole), a, terms, prime)


def in_limbs(form: Callable[[np.ndarray], Any], values: np.ndarray, terms: int, prime: int) -> np.ndarray:
    """A linear form of residues, taken of limbs so short that `terms` products with centred residues stay exact."""
    bits = 52 - 30 - ceil(log2(max(terms, 1)))
    if bits < 2:
        raise OverflowError(f"sums of {terms:,} products are too long for exact arithmetic")
    rest = np.where(values > prime // 2, values - prime, values)
    result: Any = 0
    shift = 1
    while True:
        low = rest & ((1 << bits) - 1)
        rest = rest >> bits
        last = bool(np.all((rest == 0) | (rest == -1)))  # what is left is a sign
        if last:
            low = low + (rest << bits)
        part = np.asarray(form(low.astype(np.float64))).astype(np.int64) % prime
        result = (result + part * shift) % prime
        if last:
            return np.asarray(result)
        shift = (shift << bits) % prime
