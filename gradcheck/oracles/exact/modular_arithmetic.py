"""Arithmetic modulo a prime on int64 arrays: exact, so nothing rounds.

Products of large matrices run on float64 BLAS: one factor is cut into limbs so short that every sum of products stays
an integer below 2^53, where float64 is exact (as in FFLAS: Dumas, Giorgi and Pernet, ACM TOMS 35(3), 2008).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gradcheck.autograd.modes import quiet

#: The largest primes below 2^31 modulo which -1 is no square and 2, 3, 5, 7, 11 and 13 are, so that constants
#: in formulas have roots; products of two residues fit into an int64.
PRIMES = tuple(2**31 - gap for gap in (249, 2337, 4857, 9489, 11337, 11577, 12897, 15417, 15777, 16089))
#: The bound of floats that are converted to integers.
LARGEST = 2.0**62
#: The most numbers that are inverted faster one by one.
_FEW = 200
#: The most products of elements in a matrix product that is computed in int64.
SMALL = 1 << 13


def reduce(values: np.ndarray, prime: int) -> np.ndarray:
    """Return integers as residues from 0 to `prime - 1`."""
    return np.asarray(values, dtype=np.int64) % prime


def as_integers(values: np.ndarray) -> np.ndarray | None:
    """Return integral floats as integers; None for others, or large ones."""
    with quiet():  # of infinities and NaN
        found = values.astype(np.int64)
    return found if np.logical_and.reduce((found == values) & (np.abs(values) < LARGEST), axis=None) else None


def power(base: np.ndarray, exponent: int, prime: int) -> np.ndarray:
    """Return `base ** exponent` by squaring, for exponents from 0."""
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result = result * base % prime
        base = base * base % prime
        exponent >>= 1
    return result


def inverse(values: np.ndarray, prime: int) -> np.ndarray:
    """Return `1 / values`, by Fermat's little theorem for many."""
    if not np.all(values):
        raise ZeroDivisionError("0 has no inverse")
    if values.size <= _FEW:
        found = [pow(value, -1, prime) for value in values.ravel().tolist()]
        return np.array(found, dtype=np.int64).reshape(values.shape)
    return power(values, prime - 2, prime)


def centred(values: np.ndarray, prime: int) -> np.ndarray:
    """Return residues as floats from -prime/2 to prime/2."""
    return np.where(values > prime // 2, values - prime, values).astype(np.float64)


def bilinear(
    form: Callable[[np.ndarray, np.ndarray], Any], a: np.ndarray, b: np.ndarray, terms: int, prime: int
) -> np.ndarray:
    """Return `form(a, b)`, of `terms` products each. Raises OverflowError."""
    if a.size * b.size <= 4 * SMALL and terms < 1 << 15:
        return in_halves(form, a, b, prime)
    whole = centred(b, prime)
    return in_limbs(lambda limb: form(limb, whole), a, terms, prime)


#: Numbers as arrays, which ufuncs take in half the time.
_HALF, _LOW = np.array(16), np.array(0xFFFF)


@lru_cache(maxsize=32)
def modulus(prime: int) -> np.ndarray:
    """Return the prime as an array."""
    return np.array(prime)


def in_halves(form: Callable[[np.ndarray, np.ndarray], Any], a: np.ndarray, b: np.ndarray, prime: int) -> np.ndarray:
    """Return `form(a, b)` in int64, the smaller factor in 16 and 15 bits."""
    p = modulus(prime)
    if a.size < b.size:
        high, low = form(a >> _HALF, b), form(a & _LOW, b)
    else:
        high, low = form(a, b >> _HALF), form(a, b & _LOW)
    found: np.ndarray = ((high % p << _HALF) + low) % p
    return found if type(found) is np.ndarray else np.asarray(found)


def in_limbs(form: Callable[[np.ndarray], Any], values: np.ndarray, terms: int, prime: int) -> np.ndarray:
    """Return a linear form, by limbs short enough for `terms` exact products."""
    parts, bits = limbs(values, terms, prime)
    result: Any = 0
    for number, part in enumerate(parts):
        result = (result + np.asarray(form(part)).astype(np.int64) % prime * pow(2, bits * number, prime)) % prime
    return np.asarray(result)


def limbs(values: np.ndarray, terms: int, prime: int) -> tuple[list[np.ndarray], int]:
    """Return limbs of `values` modulo the prime, and the bits of a limb.

    `values` is the sum of `2^(bits i) * limb[i]`. A limb is at most `2^(bits - 1)` in size, a centred residue `2^30`,
    so `terms` products add up to `2^53` at most. Raises OverflowError if limbs would be shorter than 4 bits.
    """
    bits = 24 - (max(terms, 1) - 1).bit_length()
    if bits < 4:
        raise OverflowError(f"sums of {terms:,} products are too long for exact arithmetic")
    rest = values - np.where(values > prime // 2, prime, 0)
    parts = []
    for _ in range(-(-31 // bits) - 1):
        high = (rest + (1 << (bits - 1))) >> bits
        parts.append((rest - (high << bits)).astype(np.float64))
        rest = high
    parts.append(rest.astype(np.float64))
    return parts, bits
