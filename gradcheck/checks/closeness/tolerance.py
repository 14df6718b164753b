"""How closely two computations of one tensor must agree: relative to its elements and its own scale, never absolute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gradcheck.autograd.dtypes import BFLOAT16, real_of
from gradcheck.language.case import Tolerance


@dataclass(frozen=True, slots=True)
class Limits:
    """`|got - want| <= atol * scale + rtol * |want|`, where scale is the tensor's largest magnitude."""

    rtol: float
    atol: float


#: The contract's base tolerances; a complex number is held to its parts'.
BASE = {
    np.dtype(np.float64): 1e-10,
    np.dtype(np.float32): 1e-5,
    np.dtype(np.float16): 2e-3,
    BFLOAT16: 1.6e-2,
}
_EXACT = Limits(0.0, 0.0)
_UNSTATED = (None, None)
_BASES = {dtype: Limits(base, base) for dtype, base in BASE.items()}
_BASES |= {np.dtype(np.complex64): _BASES[np.dtype(np.float32)], np.dtype(np.complex128): _BASES[np.dtype(np.float64)]}

_EPSILON = {np.dtype(np.float64): 2.0**-52, np.dtype(np.float32): 2.0**-23, np.dtype(np.float16): 2.0**-10,
            BFLOAT16: 2.0**-7}  # fmt: skip
#: The smallest subnormal's exponent and the mantissa's explicit bits, for the distance to the next number.
_SMALLEST = {np.dtype(np.float64): -1074, np.dtype(np.float32): -149, np.dtype(np.float16): -24, BFLOAT16: -133}


def base(dtype: np.dtype) -> Limits:
    """The contract's tolerance of a dtype; integers and booleans must be equal."""
    return _BASES.get(dtype, _EXACT)


def epsilon(dtype: np.dtype) -> float:
    """The distance from 1 to the next number of a floating or complex dtype; 0 for exact dtypes."""
    return _EPSILON.get(real_of(dtype), 0.0)


def ulp(magnitude: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The distance from each (float64) magnitude to the next number of `dtype`, a floating or complex dtype."""
    dtype = real_of(dtype)
    exponent = np.frexp(magnitude)[1] - 1 + int(np.log2(_EPSILON[dtype]))
    distance: np.ndarray = np.ldexp(1.0, np.maximum(exponent, _SMALLEST[dtype]))
    return distance


def limits(dtype: np.dtype, *tolerances: Tolerance | None) -> Limits:
    """The base of a dtype, changed by each tolerance in turn where it says something; exact dtypes stay exact."""
    known = base(dtype)
    if known is _EXACT or tolerances == _UNSTATED:
        return known
    for tolerance in tolerances:
        if tolerance is not None:
            known = Limits(
                known.rtol if tolerance.rtol is None else tolerance.rtol,
                known.atol if tolerance.atol is None else tolerance.atol,
            )
    return known


def of_claim(tolerances: Mapping[str, Tolerance], tensor: str, dtype: np.dtype, override: Tolerance | None) -> Limits:
    """What a file's claim about a tensor is held to: its own tolerance, the case's, the dtype's; a run's wins."""
    if not tolerances and override is None:
        return base(dtype)
    return limits(dtype, tolerances.get(""), tolerances.get(tensor) if tensor else None, override)
