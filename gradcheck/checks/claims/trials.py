"""The same claims at other numbers: fresh values and fresh sizes, where a case says that they can vary.

A formula that is right at one point may be right by accident; a wrong one must fail somewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.checks.claims.engines import check_engine
from gradcheck.checks.claims.formulas import check_formula, check_formulas, check_general
from gradcheck.checks.claims.stated import Claims, check_identity
from gradcheck.checks.context import Context
from gradcheck.checks.points import Point, unusable
from gradcheck.checks.result import ClaimKind, Comparison
from gradcheck.engines.base import Evaluation
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Claim, StatedTolerance
from gradcheck.language.trials import trials

#: Of these kinds of error a derivation is refuted: its shape is wrong.
_REFUTES = ("shape_mismatch", "index_out_of_range")


def applies(context: Context) -> bool:
    """Where something is to hold at other numbers, or to be refuted."""
    return context.can_be_judged and (context.case.generalize is not None or bool(context.case.wrong_formulas))


def check(context: Context) -> Iterator[Comparison]:
    """Wrong formulas, at the case's own numbers and at the trials'; then all other general claims at the trials'.

    What was found at the case's own numbers gets a note where some trial proved nothing.
    """
    case, own = context.case, context.points.own
    wrong = [WrongFormula(name, claim) for name, listed in case.wrong_formulas.items() for claim in listed]
    if own.is_complete:
        _try_to_refute(wrong, own, context.options.tolerance)
    elsewhere = _Elsewhere(context, wrong)
    if case.generalize is not None or wrong:
        elsewhere.run()
    found = [one.verdict() for one in wrong if one.last is not None]
    if elsewhere.notes:
        context.amend(lambda c: c.what.is_general, lambda c: c.noted(*elsewhere.notes))
    yield from (c.noted(*elsewhere.notes) for c in found)
    yield from elsewhere.found


# Wrong formulas --------------------------------------------------------------------------------------


@dataclass(slots=True)
class WrongFormula:
    """A derivation that is to be refuted: at how many points it held, and the comparison that refuted it."""

    name: str
    claim: Claim
    held: int = 0
    last: Comparison | None = None
    refuted: Comparison | None = None

    def attempt(self, claims: Claims) -> None:
        """Try it at one more point, unless it is refuted already."""
        if self.refuted is not None:
            return
        found = check_formula(claims, self.name, self.claim, ClaimKind.WRONG_FORMULA)
        self.last = found
        if found.status == "failed" and _is_refutation(found):
            self.refuted = found
        elif not _says_nothing(found):
            self.held += 1

    def verdict(self) -> Comparison:
        """Passed if it was wrong somewhere."""
        if self.refuted is not None:
            how = self.refuted.mismatch
            if how is None:
                how = fact("elements_differ", mismatched=self.refuted.mismatched, elements=self.refuted.elements)
            return replace(self.refuted, status="passed", mismatch=fact("refuted", how=how))
        assert self.last is not None
        if self.last.status == "failed":
            return self.last
        return replace(self.last, status="failed", mismatch=fact("not_refuted", points=self.held)).about(trial=None)


def _is_refutation(found: Comparison) -> bool:
    """A difference in numbers or shape; not an op called with arguments that it does not take."""
    if found.mask is not None or found.got_array is not None:
        return True
    mismatch = found.mismatch
    return mismatch is not None and mismatch.kind == "claim_raised" and mismatch["error"] in _REFUTES


def _says_nothing(found: Comparison) -> bool:
    """Whether every element is NaN on both sides, or there are none."""
    if found.elements == 0:
        return True
    return any(note.kind == "nans_agree" and note["count"] == found.elements for note in found.notes)


def _try_to_refute(wrong: Sequence[WrongFormula], point: Point, run: StatedTolerance | None) -> None:
    claims = Claims(point, point.last, run)
    for one in wrong:
        one.attempt(claims)


# Elsewhere -------------------------------------------------------------------------------------------


class _Elsewhere:
    """All trials of one case."""

    def __init__(self, context: Context, wrong: Sequence[WrongFormula]) -> None:
        self.context, self.wrong = context, wrong
        self.run_tolerance = context.options.tolerance
        self.found: list[Comparison] = []
        self.notes: list[Fact] = []  # why trials say nothing

    def run(self) -> None:
        """Every trial, then the literals moved a little."""
        case = self.context.case
        numbers = trials(case, self.context.options.trials)
        for number in numbers:
            self._trial(number)
        nearby = self._nudged(len(numbers) + 1)
        self.found += nearby or []
        if len(self.notes) == len(numbers) and case.generalize is not None and nearby is None:
            self.notes.append(fact("at_these_numbers_only"))

    def _trial(self, number: int) -> None:
        """One trial, drawn again until it says something; or why it does not."""
        found: list[Comparison] = []

        def accept(point: Point) -> Fact | None:
            why = unusable(point)
            if why is None:
                found[:] = self._at(point)
                empty = any(_says_nothing(c) for c in found if c.what.is_general)
                if empty and all(c.status == "passed" for c in found):
                    why = fact("all_is_nan")
            return why

        point = self.context.points.trial(number, accept)
        if isinstance(point, Fact):
            self.notes.append(point)
        else:
            self.found += found

    def _at(self, point: Point) -> list[Comparison]:
        """Engines against the reference, formulas and checks against its gradients."""
        found: list[Comparison] = []
        for engine in self.context.engines.tested:
            found += check_engine(point, point.evaluation(engine), self.run_tolerance)
        for index, step in enumerate(self.context.case.steps):
            claims = Claims(point, index, self.run_tolerance) if step.checks else None
            found += [check_identity(claims, claim) for claim in step.checks if claims]
        found += check_general(point, self.run_tolerance)
        _try_to_refute(self.wrong, point, self.run_tolerance)
        return found

    def _nudged(self, number: int) -> list[Comparison] | None:
        """Formulas where the literals among the inputs are moved a little: those that are right at one point alone
        fail. None if there is nothing to move, or if the graph is not defined (or not finite) there."""
        case = self.context.case
        literals = [name for name, value in case.inputs.items() if value.expr is None and name not in case.shapes]
        if case.generalize is None or not literals or not (case.formulas or self.wrong):
            return None
        point = self.context.points.nudged(number)
        if point is None or unusable(point) or not _is_finite(point.want):
            return None
        _try_to_refute(self.wrong, point, self.run_tolerance)
        found = check_formulas(Claims(point, point.last, self.run_tolerance))
        elsewhere = fact("not_at_other_numbers")
        return [replace(c, mismatch=elsewhere) if c.status == "failed" and not c.mismatch else c for c in found]


def _is_finite(evaluation: Evaluation) -> bool:
    gradients = (g for state in evaluation.states for g in state.gradients.values() if g is not None)
    return all(bool(np.all(np.isfinite(g))) for g in gradients if g.dtype.kind in "fc")
