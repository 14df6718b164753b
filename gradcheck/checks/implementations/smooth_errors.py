"""Tell an error that is smooth in the inputs from one of rounding.

Where inputs move by some units of a dtype, the rounding of that dtype is another, and a wrong formula's error hardly
changes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.failures.correction.computed_formula import EvidenceAtPoints
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison

if TYPE_CHECKING:
    from gradcheck.engines.implementation.code_engine import CodeEngine

#: Inputs move by so many units, but not by a larger part; a smooth error changes by less than this part of itself.
_UNITS, _FARTHEST, _MOST = 16.0, 1 / 16, 0.5


def is_smooth(engine: CodeEngine, c: Comparison, seen: EvidenceAtPoints, dtype: str) -> bool:
    """Return whether the error stays nearly the same where inputs move."""
    if not seen:
        return False
    point, evidence = seen[0]
    if evidence.got is None or evidence.got.shape != evidence.want.shape:
        return False
    factor = 1 + min(_UNITS * epsilon(dtypes.BY_NAME[dtype]), _FARTHEST)
    inputs = {
        n: np.asarray(a * a.dtype.type(factor)) if a.dtype.kind in "fc" else a for n, a in point.problem.inputs.items()
    }
    moved = Point(replace(point.problem, inputs=inputs), point.engines)
    got, want = moved.evaluation(engine), moved.want
    if c.step >= min(len(got.states), len(want.states)):
        return False
    one, other = (found.states[c.step].gradients.get(c.tensor) for found in (got, want))
    if one is None or other is None or one.shape != evidence.want.shape:
        return False
    before, after = wide(evidence.got) - wide(evidence.want), wide(one) - wide(other)
    return bool(np.linalg.norm(after - before) < _MOST * np.linalg.norm(before))
