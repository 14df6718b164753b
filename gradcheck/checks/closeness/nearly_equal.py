"""Near equality: whether two arrays are equal but for rounding.

A claim is compared by `compare`, which says where and by how much two arrays differ. Explanations need only whether
they differ, by one of three tolerances: what rounding leaves (`rounding_tolerance`), what a derivation may lose
(`derivation_tolerance`), and what a comparison allowed (`Tolerance.of`).
"""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.dtypes import is_differentiable, largest_finite, real_of, wide
from gradcheck.checks.closeness.tolerance import ROUNDINGS, Tolerance, base, epsilon

#: What a derivation may lose, relative to the largest element, by the bytes of a real number.
DERIVATION = {8: 1e-8, 4: 1e-3, 2: 5e-2}


def nearly_equal(
    got: np.ndarray, want: np.ndarray, tolerance: Tolerance | None = None, slack: np.ndarray | None = None
) -> bool:
    """Return whether two arrays of one shape agree in every element.

    NaN agrees with NaN, and an infinity only with itself.

    Args:
        tolerance: by default `derivation_tolerance(want)`.
        slack: absolute, of the arrays' shape: what rounding explains of each element.
    """
    if got.shape != want.shape:
        return False
    with np.errstate(all="ignore"):
        left, right = wide(got), wide(want)
        allowed = (tolerance or derivation_tolerance(want)).allowed(np.abs(right), slack)
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        return bool((same | (np.isfinite(right) & (np.abs(left - right) <= allowed))).all())


def rounding_tolerance(*dtypes: np.dtype, scale: float, margin: float = 1.0) -> Tolerance:
    """Return the tolerance of right computations in the coarsest dtype.

    Args:
        scale: the largest magnitude before terms cancel; what cancels is off by roundings of it.
        margin: how many times as much is allowed.
    """
    rtol = max(base(dtype).rtol for dtype in dtypes)
    floor = min(rtol, ROUNDINGS * max(map(epsilon, dtypes)))
    return Tolerance(margin * rtol, margin * floor * scale)


def derivation_tolerance(want: np.ndarray) -> Tolerance:
    """Return the absolute tolerance of a formula; integers must be equal."""
    part = DERIVATION[real_of(want.dtype).itemsize] if is_differentiable(want.dtype) else 0.0
    return Tolerance(0.0, part * largest_finite(want))
