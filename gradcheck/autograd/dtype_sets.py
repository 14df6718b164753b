"""Sets of dtypes for `Op.dtypes`: what torch takes as an argument."""

from __future__ import annotations

from typing import NamedTuple


class DtypeSet(NamedTuple):
    """The names of dtypes, and how a message describes them."""

    names: frozenset[str]
    description: str


_HALVES, _FULLS, _COMPLEX = "float16 bfloat16 ", "float32 float64 ", "complex64 complex128 "
_INTEGERS, _BOOL = "uint8 int8 int16 int32 int64 ", "bool "


def _set(names: str, description: str) -> DtypeSet:
    return DtypeSet(frozenset(names.split()), description)


FLOATING = _set(_HALVES + _FULLS + _COMPLEX, "floating numbers")
REAL_FLOATING = _set(_HALVES + _FULLS, "real floating numbers")
NO_BFLOAT16 = _set("float16 " + _FULLS, "real floating numbers other than bfloat16")
REAL_FLOATING_OR_INT64 = _set(_HALVES + _FULLS + "int64", "floating numbers or int64")
NUMBERS = _set(_INTEGERS + _HALVES + _FULLS + _COMPLEX, "numbers other than booleans")
REAL_NUMBERS = _set(_INTEGERS + _HALVES + _FULLS, "real numbers")
REAL = _set(_BOOL + _INTEGERS + _HALVES + _FULLS, "real numbers and booleans")
INDICES = _set("int32 int64", "int64 or int32")
INT64 = _set("int64", "int64")
# Without half precision:
FULL = _set(_BOOL + _INTEGERS + _FULLS + _COMPLEX, "numbers that are not of half precision")
FULL_REAL = _set(_BOOL + _INTEGERS + _FULLS, "real numbers that are not of half precision")
FULL_NUMBERS = _set(_INTEGERS + _FULLS + _COMPLEX, "numbers that are neither booleans nor of half precision")
FULL_FLOATING = _set(_FULLS + _COMPLEX, "floating numbers that are not of half precision")
FULL_REAL_FLOATING = _set(_FULLS, "numbers of float32 or float64")
FULL_REAL_FLOATING_OR_INT64 = _set(_FULLS + "int64", "numbers of float32, float64 or int64")
