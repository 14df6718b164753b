"""Kinks: what is claimed where there is no derivative is settled before anything is concluded from it.

A formula that follows another convention than the reference is excused at the kink, and decided everywhere else like
any other: the exact oracle is asked of it as well. One that is no subgradient is wrong there, whatever is proved. So is
one that repeats a mistake of the reference, whose rules follow one convention each and together none (the gradient of
`relu(x) - relu(-x)` at 0).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.context import Context
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison


def applies(context: Context) -> bool:
    """Where something failed that may be at a kink, or a point is at one; and the run wants to know why."""
    if not context.found and not context.points.kink_points:
        return False
    options = context.options
    looks = options.explained and options.oracle != "none" and context.can_be_checked
    return looks and next(_points(context), None) is not None


def check(context: Context) -> Iterable[Comparison]:
    """Nothing new: what failed at a kink gets its place, and what repeats a mistake of the reference fails."""
    from gradcheck.checks.branches.smoothness import is_smooth  # not for cases that pass, and are at no kink
    from gradcheck.checks.failures.kink_conventions import KinkClassifier
    from gradcheck.checks.failures.reference_errors import check_reference_at_kinks
    from gradcheck.engines.double_precision import double_precision_problem

    points = list(_points(context))
    if is_smooth(context.points.own.problem):
        points = [point for point in points if point in context.points.kink_points]
    believed: list[bool] = []
    for point in points:
        raised = double_precision_problem(point.problem)
        with using_default_dtype(dtypes.real_of(raised.dtype)), np.errstate(all="ignore"):
            KinkClassifier(context, point, believed).classify()
            if point in context.points.kink_points:
                check_reference_at_kinks(context, point)
    context.points.kink_points = []  # each is looked at once
    return ()


def _points(context: Context) -> Iterator[Point]:
    """Those at which there is something to look at."""
    trials = {id(c.trial) for c in context.found if c.status == "failed" and c.mask is not None and c.verdict is None}
    for point in (context.points.own, *context.points.other_points):
        if id(point.trial) in trials or point in context.points.kink_points:
            yield point
