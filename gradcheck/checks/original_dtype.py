"""Excuse failures that appear in a run's dtype but not in the case's own.

A file's claims are about its own dtype. In another dtype steps overflow or lose digits, a library has no kernel, or a
formula for real numbers gets complex ones. If a claim fails in the run's dtype but passes in the case's own, it
becomes unsupported, with the reason. Differences between engines stay failures, unless the reference cannot compute
in the dtype.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.context import Context
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Evaluation
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case
from gradcheck.language.claim_kind import ClaimKind


def has_failures(context: Context) -> bool:
    """Return whether the case has errors, failed or undecided claims."""
    return bool(context.errors) or any(c.is_failing for c in context.found)


def excuse_dtype_failures(context: Context, there: Context, explained: bool) -> None:
    """Excuse claims that pass in the case's own dtype, the context `there`.

    Claims at a kink there stay as they are until they are `explained` here."""
    refused = None if there.errors else _raised_by_reference(context.case, context.points.own.want)
    if refused is not None:
        context.errors = ()
    open_there = {_key(c) for c in there.found if c.is_failing}
    kinks = set() if explained else {_key(c) for c in there.found if c.status == "not_differentiable"}
    settled = {_key(c) for c in there.found} - open_there - kinks
    is_complex = context.points.own.problem.dtype.kind == "c"
    wrong = {c.engine for c in context.found if c.status == "failed" and not c.what.is_stated_by_file}

    def change(c: Comparison) -> Comparison:
        if not c.is_failing:
            return c
        why = refused if c.what is ClaimKind.RAISES else _raised_for_op_alone(c)
        if why is None and _key(c) in settled and (c.status == "undecided" or c.what.is_stated_by_file):
            why = None if c.engine in wrong else _dtype_reason(c, is_complex)
        if why is None:
            return c
        mismatch = fact("not_in_this_dtype", own=there.case.dtype, dtype=context.case.dtype, why=why)
        return replace(c, status="unsupported", mismatch=mismatch)

    context.amend(lambda c: True, change)


def _key(c: Comparison) -> tuple[ClaimKind, str, int, str, str]:
    return c.what, c.tensor, c.step, c.engine, c.formula


def _raised_by_reference(case: Case, evaluation: Evaluation) -> Fact | None:
    """Return an error of the reference that the case does not ask for."""
    errors = [state.error for state in evaluation.states] or [evaluation.error]
    for step, error in zip(case.steps, errors, strict=False):
        if error is not None and error.kind != step.raises:
            return fact("engine_raised", engine=evaluation.engine, error=error.kind, text=error.message)
    return None


def _raised_for_op_alone(c: Comparison) -> Fact | None:
    """Return an error that the reference alone raised for a single op."""
    differ = c.mismatch
    if differ is not None and differ.kind in ("op_alone", "jvp_fails"):
        differ = differ["what"]
    if differ is None or differ.kind != "outcomes_differ" or differ["want_outcome"].kind != "raised":
        return None
    came = differ["want_outcome"]
    return fact("engine_raised", engine=differ["want"], error=came["error"], text=came["text"])


def _dtype_reason(c: Comparison, is_complex: bool) -> Fact:
    """Return why the run's dtype does not show what the case's own does."""
    if is_complex:
        return fact("written_for_real_numbers")
    if c.mismatch is not None:
        return c.mismatch
    numbers = [wide(array) for array in (c.got_array, c.want_array) if array is not None]
    overflows = any(not np.isfinite(array).all() for array in numbers)
    return fact("overflows" if overflows else "loses_digits")
