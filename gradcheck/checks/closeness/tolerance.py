"""The one rule for how far two computations of an element may differ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gradcheck.autograd.dtypes import BFLOAT16, real_of
from gradcheck.checks.result import Comparison
from gradcheck.language.case import StatedTolerance


@dataclass(frozen=True, slots=True)
class Tolerance:
    """A relative and an absolute tolerance; absolute only where stated."""

    rtol: float
    atol: float = 0.0
    measures_agreement: bool = False  # whether to record how close agreeing arrays are

    @classmethod
    def of(cls, compared: Comparison) -> Tolerance:
        """Return the tolerance that a comparison used."""
        return cls(compared.rtol or 0.0, compared.atol or 0.0)

    def allowed(self, magnitude: np.ndarray, slack: np.ndarray | None = None) -> np.ndarray:
        """Return the allowed `|got - want|`: `rtol * |want| + atol + slack`.

        `magnitude` is `|want|` in double precision; `slack`, of its shape, what rounding explains (see
        `conditioning`)."""
        allowed: np.ndarray = self.rtol * magnitude + self.atol
        return allowed if slack is None else allowed + slack


#: The base tolerances; a complex number has those of its parts.
BASE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5, np.dtype(np.float16): 2e-3, BFLOAT16: 1.6e-2}
EXACT = Tolerance(0.0)
_UNSTATED = (None, None)
_BASES = {dtype: Tolerance(base) for dtype, base in BASE.items()}
_BASES |= {np.dtype(np.complex64): _BASES[np.dtype(np.float32)], np.dtype(np.complex128): _BASES[np.dtype(np.float64)]}

#: The rounding of a sum that cancels, in units of its terms, where it is not measured.
ROUNDINGS = 64.0
#: The rounding of inputs where 0 is wanted: log(x + 1e-15), of an x of 1, is 5 units off.
ZERO_ROUNDINGS = 16.0
_EPSILON = {
    np.dtype(np.float64): 2.0**-52,
    np.dtype(np.float32): 2.0**-23,
    np.dtype(np.float16): 2.0**-10,
    BFLOAT16: 2.0**-7,
}
#: The smallest subnormal's exponent and the mantissa's explicit bits, for the distance to the next number.
_SMALLEST = {np.dtype(np.float64): -1074, np.dtype(np.float32): -149, np.dtype(np.float16): -24, BFLOAT16: -133}


def base(dtype: np.dtype) -> Tolerance:
    """Return a dtype's base tolerance; integers and booleans are exact."""
    return _BASES.get(dtype, EXACT)


def epsilon(dtype: np.dtype) -> float:
    """Return the distance from 1 to the next number; 0 for exact dtypes."""
    return _EPSILON.get(real_of(dtype), 0.0)


def zero_allowance(want: np.ndarray, scale: float) -> np.ndarray:
    """Return the allowance for roundings of inputs where 0 is wanted.

    A relative tolerance allows nothing there. No input counts as larger than 1."""
    return np.where(want == 0, ZERO_ROUNDINGS * epsilon(want.dtype) * min(scale, 1.0), 0.0)


def ulp(magnitude: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the distance from each float64 magnitude to the next number."""
    dtype = real_of(dtype)
    exponent = np.frexp(magnitude)[1] - 1 + int(np.log2(_EPSILON[dtype]))
    distance: np.ndarray = np.ldexp(1.0, np.maximum(exponent, _SMALLEST[dtype]))
    return distance


def claim_tolerance(
    stated: Mapping[str, StatedTolerance], tensor: str, dtype: np.dtype, run: StatedTolerance | None
) -> Tolerance:
    """Return the run's, the tensor's, the case's ("") or the dtype's one."""
    if not stated and run is None:
        return base(dtype)
    return engine_tolerance(dtype, stated.get(""), stated.get(tensor) if tensor else None, run)


def engine_tolerance(dtype: np.dtype, *tolerances: StatedTolerance | None) -> Tolerance:
    """Return the base tolerance, changed by each stated one: case, then run."""
    known = base(dtype)
    if known is EXACT or tolerances == _UNSTATED:
        return known
    for stated in tolerances:
        if stated is not None:
            known = Tolerance(
                known.rtol if stated.rtol is None else stated.rtol,
                known.atol if stated.atol is None else stated.atol,
                known.measures_agreement or stated.measured,
            )
    return known


def modulus(number: complex) -> float:
    """Return the absolute value; infinity where Python's `abs` raises."""
    return math.hypot(number.real, number.imag)
