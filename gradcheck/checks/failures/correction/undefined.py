"""Formulas that are no numbers where the one is none, either, instead of which they are suggested."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.result import Comparison
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Claim


def is_equally_undefined(wrong: Claim | None, claims: StepClaims, found: Comparison) -> bool:
    """Whether a formula is off only where it is no number, and the one instead of which it is suggested is none either:
    its author's own steps overflow, or divide by 0."""
    if wrong is None or found.mask is None or found.got_array is None:
        return False
    try:
        before = wide(claims.scope.array_of(wrong.expr))
    except (GradcheckError, ValueError):
        return False
    got = wide(found.got_array)
    return before.shape == got.shape and not np.any(np.isfinite(got[found.mask]) | np.isfinite(before[found.mask]))
