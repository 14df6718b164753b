"""Floats as exact numbers: fractions, and their roots times powers of pi."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from gradcheck.autograd.dtypes import BFLOAT16
from gradcheck.autograd.exactness import DIGITS
from gradcheck.oracles.exact.field_point import FieldPoint

_FLOAT64 = np.dtype(np.float64)
#: By dtype: the most digits of a float that is a decimal number. In half precision every number
#: has few digits; only those that distinguish it from its neighbours count.
_MOST_DIGITS = {_FLOAT64: 12, np.dtype(np.float32): 6, np.dtype(np.float16): 3, BFLOAT16: 2}
#: By dtype: the largest denominator of a fraction that a float stands for.
_LARGEST_DENOMINATOR = {_FLOAT64: 1_000_000, np.dtype(np.float32): 2_000, np.dtype(np.float16): 30, BFLOAT16: 10}
#: The digits that every float64 has.
_WRITTEN_DIGITS = 15
#: The largest numerator and denominator under a root.
_LARGEST_SQUARE = 10_000
#: The name of rounded numbers among uninterpreted functions.
ROUNDED = "rounded numbers"


def residue(point: FieldPoint, number: float, dtype: np.dtype = _FLOAT64) -> int:
    """Return a number as a field element. Raises ZeroDivisionError."""
    if math.isinf(number):
        return point.infinity(1 if number > 0 else -1)
    simple = fraction(number, dtype)
    if simple is not None:
        return _quotient(simple, point.prime)
    known = surd(abs(number))
    if known is None and number in point.written_numbers and (decimal := decimal_fraction(number)) is not None:
        return _quotient(decimal, point.prime)
    if known is None:  # a result that was rounded: the binary fraction itself, which refutes nothing
        point.uninterpreted.add(ROUNDED)
        return point.symbol(repr(number)) if point.redraw else _quotient(Fraction(number), point.prime)
    square, halves = known
    found = _root(point, square.numerator * square.denominator) * pow(square.denominator, -1, point.prime)
    if halves:
        found *= pow(point.symbol("sqrt(pi)"), halves, point.prime)
    return found * (1 if number > 0 else -1) % point.prime


def _quotient(number: Fraction, prime: int) -> int:
    if number.denominator % prime == 0:
        raise ZeroDivisionError(f"{number} has a denominator of 0")
    return number.numerator * pow(number.denominator, -1, prime) % prime


@lru_cache(maxsize=4096)
def fraction(number: float, dtype: np.dtype = _FLOAT64) -> Fraction | None:
    """Return the short decimal, or the simple fraction, nearest to the number."""
    # None if both differ: in half precision a twelfth is also the nearest to 0.0833
    written = Fraction(f"{number:.{_MOST_DIGITS[dtype] - 1}e}")
    simple = Fraction(number).limit_denominator(_LARGEST_DENOMINATOR[dtype])
    meant = {one for one in (written, simple) if _nearest(float(one), dtype) == number}
    if len(meant) > 1 or (simple in meant and simple != written and not _is_alone(simple, dtype)):
        return None
    return meant.pop() if meant else None


def _is_alone(simple: Fraction, dtype: np.dtype) -> bool:
    """Return whether no other simple fraction rounds to the same number."""
    spacing = abs(simple) * Fraction(2) ** (1 - DIGITS[dtype])
    return spacing * simple.denominator * _LARGEST_DENOMINATOR[dtype] < 1


def _nearest(number: float, dtype: np.dtype) -> float:
    return number if dtype == _FLOAT64 else float(np.asarray(number).astype(dtype))


@lru_cache(maxsize=4096)
def decimal_fraction(number: float) -> Fraction | None:
    """Return the decimal of a file, up to 15 digits; None for a likely root."""
    digits = len(repr(number).partition("e")[0].replace(".", "").lstrip("-0"))
    if digits > _WRITTEN_DIGITS or surd(abs(number), 10.0 ** (1 - digits)) is not None:
        return None
    return Fraction(repr(number))


@lru_cache(maxsize=4096)
def surd(number: float, rounded: float = 2e-15) -> tuple[Fraction, int] | None:
    """Return `(s, k)` for `sqrt(s) * pi ** (k / 2)`, s a small fraction."""
    for halves in (0, -1, 1, 2, -2):
        part = number / math.pi ** (halves / 2)
        if not 1e-4 < part < 1e4:
            continue
        square = Fraction(part * part).limit_denominator(_LARGEST_SQUARE)
        small = 0 < square.numerator <= _LARGEST_SQUARE
        if small and math.isclose(math.sqrt(square), part, rel_tol=rounded):
            return square, halves
    return None


def _root(point: FieldPoint, number: int) -> int:
    """Return the root of a positive integer: the product of its primes' roots."""
    found = 1
    for factor, times in prime_factors(number):
        found = found * pow(factor, times // 2, point.prime) % point.prime
        if times % 2:
            found = found * _root_of_prime(point, factor) % point.prime
    return found


def _root_of_prime(point: FieldPoint, factor: int) -> int:
    """Return the root `a ** ((p + 1) / 4)` modulo p = 3 mod 4, or a symbol."""
    prime = point.prime
    root = pow(factor, (prime + 1) // 4, prime)
    if root * root % prime == factor % prime:
        return root
    return point.symbol(f"sqrt({factor})")


@lru_cache(maxsize=1024)
def prime_factors(number: int) -> tuple[tuple[int, int], ...]:
    """Return the prime factors with multiplicity, by trial division."""
    found: dict[int, int] = {}
    divisor = 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            found[divisor] = found.get(divisor, 0) + 1
            number //= divisor
        divisor += 1
    if number > 1:
        found[number] = found.get(number, 0) + 1
    return tuple(found.items())
