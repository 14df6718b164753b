"""Exact results of floating-point arithmetic, which lose no digit.

Sums by Knuth's error-free transformation (The Art of Computer Programming, vol. 2, 4.2.2); products, quotients and
roots by how many digits their numbers have.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import BFLOAT16, is_differentiable, real_of

#: By dtype the digits of its mantissa.
DIGITS = {np.dtype(np.float64): 53, np.dtype(np.float32): 24, np.dtype(np.float16): 11, BFLOAT16: 8}
_ALL = 53
#: Ufuncs whose results are always exact: they choose, compare, cut off, or change a sign.
EXACT = frozenset(
    (
        *(np.negative, np.positive, np.absolute, np.fabs, np.sign, np.conjugate, np.copysign, np.maximum, np.minimum),
        *(np.fmax, np.fmin, np.floor, np.ceil, np.trunc, np.rint, np.fmod, np.remainder, np.floor_divide),
        *(np.ldexp, np.frexp, np.modf, np.heaviside),
    )
)


def is_exact(ufunc: np.ufunc, args: Sequence[Any], result: np.ndarray) -> np.ndarray:
    """Return a mask of a ufunc's results in double precision that are exact."""
    if result.dtype.kind == "c":
        return np.asarray(_digits(result.real) + _digits(result.imag) <= _ALL // 2)
    numbers = [np.asarray(value, np.float64) for value in args]
    if ufunc in (np.add, np.subtract):
        other = numbers[1] if ufunc is np.add else -numbers[1]
        return _is_exact_sum(numbers[0], other, result)
    if ufunc in (np.multiply, np.square):
        return _fits_product(numbers[0], numbers[-1])
    if ufunc in (np.true_divide, np.reciprocal):
        above = numbers[0] if ufunc is np.true_divide else np.ones(())
        return _is_exact_product(result, numbers[-1], above)
    if ufunc is np.sqrt:
        return _is_exact_product(result, result, numbers[0])
    if ufunc in (np.power, np.float_power):
        exponent = numbers[1]
        return np.asarray((exponent == np.rint(exponent)) & (exponent >= 0) & (_digits(numbers[0]) * exponent <= _ALL))
    return np.asarray(np.logical_and.reduce([number == 0 for number in np.broadcast_arrays(*numbers)]))


def _is_exact_sum(a: np.ndarray, b: np.ndarray, total: np.ndarray) -> np.ndarray:
    part = total - a
    return np.asarray(((a - (total - part)) + (b - part)) == 0)


def _is_exact_product(a: np.ndarray, b: np.ndarray, product: np.ndarray) -> np.ndarray:
    return np.asarray(_fits_product(a, b) & (a * b == product))


def _fits_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a mask of products that have no more digits than fit.

    A power of two adds none; but another way to the same result, such as by its reciprocal, may round.
    """
    if not b.ndim:
        return _has_at_most(a, _ALL - _digits_of(float(b)))
    return _fits_product(b, a) if not a.ndim else np.asarray(_digits(a) + _digits(b) <= _ALL)


def _has_at_most(array: np.ndarray, digits: int) -> np.ndarray:
    """Return a mask of numbers with so few digits; False if not finite."""
    if digits == _ALL:
        return np.ones(array.shape, dtype=np.bool_)
    shifted = np.frexp(array)[0] * 2.0**digits
    return np.asarray((shifted == np.rint(shifted)) & np.isfinite(array))


@lru_cache(maxsize=1024)
def _digits_of(number: float) -> int:
    return int(_digits(np.asarray(number)))


def adds_exactly(count: int, factors: Sequence[np.ndarray]) -> bool:
    """Return whether sums of products lose no digit, in any order.

    Each of `count` products has one element of every factor.
    """
    if not all(is_differentiable(factor.dtype) for factor in factors):
        return True
    top, unit = float(count), 1.0
    for factor in factors:
        top *= float(np.max(np.abs(factor.astype(complex if factor.dtype.kind == "c" else float)), initial=0.0))
        unit *= _common_power_of_two(factor)
    return top <= unit * 2.0 ** (DIGITS[real_of(factors[0].dtype)] // 2)


def _common_power_of_two(array: np.ndarray) -> float:
    """Return the largest power of two up to 1 that divides all, or 0."""
    smallest = 1.0
    for part in (array.real, array.imag) if array.dtype.kind == "c" else (array,):
        size = np.abs(part.astype(np.float64))
        size = size[size > 0]
        if not np.isfinite(size).all():
            return 0.0
        mantissas, exponents = np.frexp(size)
        units = np.ldexp(_lowest_digit(mantissas).astype(np.float64), exponents - _ALL)
        smallest = min(smallest, float(np.min(units, initial=1.0)))
    return smallest


def _digits(array: np.ndarray) -> np.ndarray:
    """Return how many binary digits each number has; all for infinities, NaN."""
    mantissas, _ = np.frexp(np.where(np.isfinite(array), array, 1 / 3))
    lowest = _lowest_digit(np.abs(mantissas))
    return np.where(lowest == 0, 0, _ALL + 1 - np.frexp(lowest.astype(np.float64))[1])


def _lowest_digit(mantissas: np.ndarray) -> np.ndarray:
    """Return the lowest set digit of mantissas, in units of the last place."""
    whole = (mantissas * 2.0**_ALL).astype(np.int64)
    return np.asarray(whole & -whole)
