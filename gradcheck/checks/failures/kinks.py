"""The stage of kinks: settle claims without a derivative before others.

A formula that follows another convention than the reference is excused at the kink, and decided as usual elsewhere,
also by the exact oracle. A formula that is no subgradient is wrong. So is one that repeats an error of the
reference, whose rules follow one convention each and together none (the gradient of `relu(x) - relu(-x)` at 0).
A convention alone refutes no wrong formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.branches.margin_recording import is_at_kink
from gradcheck.checks.context import Context
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.language.claim_kind import ClaimKind


def applies(context: Context) -> bool:
    """Return whether something may have failed at a kink, if the run explains."""
    if not context.found and not context.points.kink_points:
        return False
    options = context.options
    looks = options.explained and options.oracle != "none" and context.can_be_checked
    return looks and next(_points(context), None) is not None


def check(context: Context) -> Iterable[Comparison]:
    """Classify failures at kinks; fail what repeats an error of the reference."""
    from gradcheck.checks.failures.kink_conventions import (
        KinkClassifier,
        is_smooth,
        judged_again,  # not imported for cases that pass without kinks
    )
    from gradcheck.checks.failures.reference_errors import check_reference_at_kinks
    from gradcheck.engines.double_precision import double_precision_problem

    points = list(_points(context))
    if is_smooth(context.points.own.problem):
        points = [point for point in points if point in context.points.kink_points]
    classifier = partial(KinkClassifier, context, reliable=[])
    for point in points:
        raised = double_precision_problem(point.problem)
        with using_default_dtype(dtypes.real_of(raised.dtype)), np.errstate(all="ignore"):
            classifier(point).classify()
            for place in [p for p, c in enumerate(context.found) if _refutes(c) and c.trial == point.trial]:
                context.found[place] = judged_again(context, context.found[place], classifier)
            if point in context.points.kink_points:
                check_reference_at_kinks(context, point)
    context.points.kink_points = []  # each is checked once
    return ()


def _refutes(c: Comparison) -> bool:
    return c.what is ClaimKind.WRONG_FORMULA and c.status == "passed" and c.mask is not None


def _points(context: Context) -> Iterator[Point]:
    failed = {id(c.trial) for c in context.found if c.status == "failed" and c.mask is not None and c.verdict is None}
    refuted = {id(c.trial) for c in context.found if _refutes(c)}
    for point in (context.points.own, *context.points.other_points):
        trial, is_known = id(point.trial), point in context.points.kink_points
        if trial in failed or is_known or (trial in refuted and is_at_kink(point)):
            yield point
