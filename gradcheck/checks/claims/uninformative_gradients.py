"""Note formulas that say little, and reject those compared nowhere.

Under `y.sum()` the gradient of a softmax or a layer norm is 0, and every tensor's incoming gradient is 1: formulas that
are wrong for others pass. Where the graph is NaN, no formula is wrong: one that differs from NaN at every point, and is
not proved, is undecided. So is a check that compares no element anywhere, as `x[5:] == 3` of three numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.checks.claims.precise_recheck import refutation
from gradcheck.checks.context import Context
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import free_names, gradient_names

#: A gradient of at most this part of the largest one at its point is 0.
_NOTHING = 1e-12


def applies(context: Context) -> bool:
    """Return whether something is claimed of what the reference computes."""
    return context.can_be_checked and context.points.own.is_complete


def check(context: Context) -> Iterable[Comparison]:
    """Add notes to formulas that passed; leave some claims undecided."""
    _reject_empty(context)
    context.amend(_is_at_own_numbers, partial(_recheck_precisely, context))
    points = [p for p in (context.points.own, *context.points.trials) if p.is_complete]
    summed = _summed_entry(context.case)
    claims = ((name, claim) for name, listed in context.case.formulas.items() for claim in listed)
    notes = {(name, claim.text): tuple(_notes(summed, points, name, claim)) for name, claim in claims}
    if any(notes.values()) and context.points.trials:
        context.amend(_is_at_own_numbers, lambda c: c.with_notes(*notes.get((c.tensor, c.formula), ())))
    _reject_uncompared(context)
    return ()


def _is_at_own_numbers(c: Comparison) -> bool:
    return c.what is ClaimKind.FORMULA and c.status == "passed" and c.trial is None


def _recheck_precisely(context: Context, c: Comparison) -> Comparison:
    """Return a formula as failed or noted, if its numbers are 0 or noise."""
    own = context.points.own
    want = own.scope(own.last_step).gradients.get(c.tensor)
    claim = next((one for one in context.case.formulas.get(c.tensor, ()) if one.text == c.formula), None)
    if c.certificate or claim is None or want is None or (np.any(want) and not c.has_note("within_rounding")):
        return c
    refuted = None
    with suppress(GradcheckError, ValueError, TypeError, LookupError, ArithmeticError):
        refuted = refutation(context, c.tensor, claim)
    if refuted is not None:
        return c.without_numbers("failed", mismatch=refuted, verdict=None, certificate=None)
    is_said = want.size and not c.has_note("within_rounding") and not context.points.other_points
    is_about_values = not {*context.case.inputs, *context.case.graph}.isdisjoint(free_names(claim.expr))
    return c.with_notes(fact("vanishes_here")) if is_said and is_about_values else c


def _reject_uncompared(context: Context) -> None:
    """Leave formulas undecided that passed as the graph is NaN everywhere."""
    formulas = [c for c in context.found if c.what is ClaimKind.FORMULA]
    excuses = ("graph_is_nan", "leaves_range")
    told = {(c.tensor, c.formula) for c in formulas if c.certificate or not any(map(c.has_note, excuses))}
    context.amend(
        lambda c: c.what is ClaimKind.FORMULA and (c.tensor, c.formula) not in told,
        lambda c: replace(c, status="undecided", mismatch=fact("compared_nowhere"), notes=()),
    )


def _reject_empty(context: Context) -> None:
    """Leave checks of no number undecided, unless tensors are empty."""
    values, own = context.points.own.want.states[-1].values, context.points.own.problem
    is_empty = not all(array.size for array in (*values.values(), *own.inputs.values(), *own.constants.values()))
    kinds = ("only_nan",) if is_empty else ("only_nan", "no_elements")
    checks = [c for c in context.found if c.what is ClaimKind.CHECK]
    told = {(c.formula, c.step) for c in checks if not any(map(c.has_note, kinds))}

    def rejected(c: Comparison) -> Comparison:
        why = next(note for note in c.notes if note.kind in kinds)
        rest = replace(c, notes=tuple(note for note in c.notes if note.kind not in kinds))
        return rest if (c.formula, c.step) in told else replace(rest, status="undecided", mismatch=why)

    context.amend(lambda c: c.what is ClaimKind.CHECK and any(map(c.has_note, kinds)), rejected)


def _notes(summed: str, points: list[Point], name: str, claim: Claim) -> Iterator[Fact]:
    if gradient_names(claim.expr) and all(_is_nothing(point, name) for point in points):
        yield fact("gradient_is_zero", tensor=name, write=summed)
    elif summed and summed in gradient_names(claim.expr) and all(_is_one(point, summed) for point in points):
        yield fact("incoming_is_one", tensor=summed)


def _summed_entry(case: Case) -> str:
    """Return `y` if the case begins at `loss: y.sum()`, else ""."""
    (root, *others) = case.steps[-1].roots or ("",)
    claim = case.graph.get(root)
    if others or claim is None:
        return ""
    (entry, *rest) = free_names(claim.expr) or ("",)
    return entry if not rest and entry in case.graph and claim.expr == parse(f"{entry}.sum()") else ""


def _is_nothing(point: Point, name: str) -> bool:
    gradients = point.want.states[point.last_step].gradients
    own = gradients.get(name)
    sizes = [largest_finite(wide(array)) for array in gradients.values() if array is not None]
    return own is not None and bool(own.size) and largest_finite(wide(own)) <= _NOTHING * max(sizes, default=0.0)


def _is_one(point: Point, name: str) -> bool:
    gradient = point.want.states[point.last_step].gradients.get(name)
    return gradient is not None and bool(np.all(gradient == 1))
