"""Tolerance: how far two computations of one tensor may be apart, element by element. The rule stands here alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gradcheck.autograd.dtypes import BFLOAT16, real_of
from gradcheck.language.case import StatedTolerance


@dataclass(frozen=True, slots=True)
class Tolerance:
    """`rtol` is relative to each element; `atol` is absolute, and 0 unless somebody asks for it. `measured` asks how
    near two come that agree, too."""

    rtol: float
    atol: float = 0.0
    measures_agreement: bool = False

    def allowed(self, magnitude: np.ndarray, slack: np.ndarray | None = None) -> np.ndarray:
        """What `|got - want|` may be: `rtol * |want| + atol`, and `slack` on top, which is absolute.

        `magnitude` is `|want|` in double precision; `slack`, of its shape, what rounding explains of each element (see
        `conditioning`).
        """
        allowed: np.ndarray = self.rtol * magnitude + self.atol
        return allowed if slack is None else allowed + slack


#: The contract's base tolerances; a complex number is held to its parts'.
BASE = {
    np.dtype(np.float64): 1e-10,
    np.dtype(np.float32): 1e-5,
    np.dtype(np.float16): 2e-3,
    BFLOAT16: 1.6e-2,
}
EXACT = Tolerance(0.0)
_UNSTATED = (None, None)
_BASES = {dtype: Tolerance(base) for dtype, base in BASE.items()}
_BASES |= {np.dtype(np.complex64): _BASES[np.dtype(np.float32)], np.dtype(np.complex128): _BASES[np.dtype(np.float64)]}

#: So many roundings of what is added up may be left of it where it cancels, when nobody has measured how many.
ROUNDINGS = 64.0
_EPSILON = {
    np.dtype(np.float64): 2.0**-52,
    np.dtype(np.float32): 2.0**-23,
    np.dtype(np.float16): 2.0**-10,
    BFLOAT16: 2.0**-7,
}
#: The smallest subnormal's exponent and the mantissa's explicit bits, for the distance to the next number.
_SMALLEST = {np.dtype(np.float64): -1074, np.dtype(np.float32): -149, np.dtype(np.float16): -24, BFLOAT16: -133}


def base(dtype: np.dtype) -> Tolerance:
    """The contract's tolerance of a dtype; integers and booleans must be equal."""
    return _BASES.get(dtype, EXACT)


def epsilon(dtype: np.dtype) -> float:
    """The distance from 1 to the next number of a floating or complex dtype; 0 for exact dtypes."""
    return _EPSILON.get(real_of(dtype), 0.0)


def ulp(magnitude: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The distance from each (float64) magnitude to the next number of `dtype`, a floating or complex dtype."""
    dtype = real_of(dtype)
    exponent = np.frexp(magnitude)[1] - 1 + int(np.log2(_EPSILON[dtype]))
    distance: np.ndarray = np.ldexp(1.0, np.maximum(exponent, _SMALLEST[dtype]))
    return distance


def engine_tolerance(
    dtype: np.dtype, case: StatedTolerance | None = None, run: StatedTolerance | None = None
) -> Tolerance:
    """What engines are held to: the base of the dtype, changed by what the case states for engines, then by the run."""
    return _stated(dtype, case, run)


def claim_tolerance(
    stated: Mapping[str, StatedTolerance], tensor: str, dtype: np.dtype, run: StatedTolerance | None
) -> Tolerance:
    """What a file's claim about a tensor is held to: its own tolerance, the case's (""), the dtype's; a run's wins."""
    if not stated and run is None:
        return base(dtype)
    return _stated(dtype, stated.get(""), stated.get(tensor) if tensor else None, run)


def _stated(dtype: np.dtype, *tolerances: StatedTolerance | None) -> Tolerance:
    """The base of a dtype, changed by each in turn where it says something; exact dtypes stay exact."""
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
