"""Check claims about Jacobians and Hessians, here and at other numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.claims.wrong_formulas import WrongFormula
from gradcheck.checks.closeness.tolerance import ROUNDINGS, epsilon
from gradcheck.checks.context import Context
from gradcheck.checks.derivatives.claimed_derivative import (
    DerivedCase,
    StatedDerivative,
    contracted_claim,
    derived_case,
    stated_derivatives,
)
from gradcheck.checks.derivatives.derivative_mistakes import with_mistakes
from gradcheck.checks.failures.correction.suggestion import did_you_mean
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.points.drawing import GENERIC
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Diagnosis
from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError, InvalidCase
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import free_names
from gradcheck.language.problem import Problem

#: Runs the stages of a case, and explains what failed.
Examine = Callable[[Case, Options, Engines], Context]
#: Notes on the contraction that say nothing of the derivative.
_OF_A_GRADIENT = ("gradient_is_zero", "incoming_is_one")
#: Diagnoses of a contraction that hold for the derivative too.
_OF_ANY_CONTRACTION = ("sign", "factor", "conjugate", "no_centring", "dtype", "these_numbers_only")


def check_derivatives(context: Context, examine: Examine) -> list[Comparison]:
    """Return the comparisons of all claims. Raises InvalidCase.

    There are none if the graph cannot be evaluated, which is an error of its own."""
    listed = list(stated_derivatives(context.case))
    own = context.points.own
    if not listed or not context.can_be_checked or not own.is_complete:
        return []
    _refuse_several_elements(own, listed)
    checks = [_OneClaim(context, one) for one in listed]
    groups: dict[tuple[str, str, bool], list[_OneClaim]] = {}
    for check in checks:
        if check.needs_other_points:
            groups.setdefault((check.stated.of, check.stated.rows, check.stated.is_hessian), []).append(check)
    between = [c for group in groups.values() for c in _check_elsewhere(context, examine, group)]
    return [*(c for check in checks for c in check.explained()), *between]


def _refuse_several_elements(point: Point, listed: Iterable[StatedDerivative]) -> None:
    for one in listed:
        value = point.want.states[-1].values.get(one.of)
        if one.is_hessian and value is not None and (value.size != 1 or value.dtype.kind == "c"):
            message = f"the Hessian of {one.of}, of shape {list(value.shape)}, which is not one real number"
            hint = "a Hessian is of a tensor of one element; of others, state the Jacobian"
            raise InvalidCase(message, place=one.claim.place, hint=hint)


def _check_elsewhere(context: Context, examine: Examine, group: Sequence[_OneClaim]) -> list[Comparison]:
    """Run the derived case of claims, and return its comparisons of engines."""
    try:
        derived = derived_case(_generic_problem(context), [check.stated for check in group])
    except GradcheckError as error:
        for check in group:
            check.own = check.own.with_notes(fact("not_proved", why=fact("said", text=str(error))))
        return []
    run = _DerivedRun(context, derived, examine)
    for check in group:
        check.found = run.comparisons_of(check.stated)
    return run.comparisons_of_engines({check.stated.by: check.stated for check in group})


def _generic_problem(context: Context) -> Problem:
    """Return a problem in which no size that the case leaves open is 1."""
    own = context.points.own.problem
    point = context.points.unseen_point(GENERIC) if own.sizes and context.case.generalize is not None else None
    return own if point is None else point.problem


class _OneClaim:
    """A claim with its comparisons, at the own numbers and beyond."""

    def __init__(self, context: Context, stated: StatedDerivative) -> None:
        self.context, self.stated, self.found = context, stated, list[Comparison]()
        self.wrong = WrongFormula(stated.term.name, stated.claim) if stated.what.is_stated_wrong else None
        self.own = self._at_own_numbers()

    def _at_own_numbers(self) -> Comparison:
        own, case, stated = self.context.points.own, self.context.case, self.stated
        tolerance = case.tolerance.get(stated.of)
        if tolerance is not None:
            own = own.with_claims(replace(case, tolerance={**case.tolerance, stated.term.name: tolerance}))
        claims = StepClaims(own, own.last_step, self.context.options.tolerance)
        try:
            if self.wrong is None:
                return check_formula(claims, stated.term.name, stated.claim)
            self.wrong.try_at(claims)
            return self.wrong.verdict()
        except GradcheckError as error:
            subject = claims.subject(stated.what, stated.term.name, stated.claim.place, formula=stated.claim.text)
            return subject.failed(fact("claim_raised", error=error.kind, text=str(error), told=None))

    @property
    def needs_other_points(self) -> bool:
        """True unless its own numbers refute a wrong one, or its shape."""
        if self.wrong is not None and self.wrong.refutation is not None:
            return False
        return self.own.mismatch is None or self.own.mismatch.kind not in ("claim_raised", "shapes_differ")

    def comparisons(self) -> Iterator[Comparison]:
        """Yield its comparisons: at the case's numbers first."""
        here = next((c for c in self.found if c.trial is None), None)
        if self.wrong is not None:
            yield self._named(self.found[0] if self.found else self.own)
            return
        yield self._named(self.own if here is None else _joined(self.own, here))
        yield from (self._named(c) for c in self.found if c.trial is not None)

    def explained(self) -> Iterator[Comparison]:
        """Yield its comparisons, the first failure with its mistake."""
        is_first = self.context.options.explained
        for c in self.comparisons():
            yield with_mistakes(self.context, self.stated, c) if is_first else c
            is_first = is_first and c.status != "failed"

    def _named(self, c: Comparison) -> Comparison:
        stated = self.stated
        return c.with_subject(
            what=stated.what, tensor=stated.term.name, formula=stated.claim.text, place=stated.claim.place
        )


def _joined(own: Comparison, beyond: Comparison) -> Comparison:
    """Return the comparison of all entries, with what the derived case shows.

    A proof excuses rounding, and refutes what is within it. The derived case decides at a kink, where the reference is
    found wrong, and where its own second order is no number."""
    known: dict[str, Any] = {"verdict": beyond.verdict, "certificate": beyond.certificate}
    notes = tuple(note for note in beyond.notes if note not in own.notes)
    if own.is_failing and beyond.is_failing:
        return replace(own, diagnoses=beyond.diagnoses, **known).with_notes(*notes)
    rounds = own.got_array is None or own.got_array.dtype.kind not in "biu"
    is_known = (
        (rounds and beyond.certificate) or beyond.status == "not_differentiable" or beyond.passes_by_wrong_reference
    )
    if own.is_failing and (is_known or (beyond.status == "passed" and _may_be_rounding(own))):
        return own.without_numbers(beyond.status, mismatch=None, **known).with_notes(*notes)
    if own.is_failing:
        return own
    if beyond.status != "passed":
        return own.without_numbers(beyond.status, mismatch=beyond.mismatch, diagnoses=beyond.diagnoses, **known)
    return replace(own, **known).with_notes(*notes)


def _may_be_rounding(failed: Comparison) -> bool:
    """Return whether entries differ by roundings of the largest, or from NaN."""
    got, want, mask = failed.got_array, failed.want_array, failed.mask
    if got is None or want is None or mask is None:
        return False
    gap, right = np.abs(wide(got) - wide(want))[mask], wide(want)
    size = float(np.max(np.abs(right), initial=0.0, where=np.isfinite(right)))
    return bool(np.all((gap <= ROUNDINGS * epsilon(want.dtype) * size) | np.isnan(right[mask])))


class _DerivedRun:
    """The stages of one derived case, and its results by stated claim."""

    def __init__(self, context: Context, derived: DerivedCase, examine: Examine) -> None:
        self.context, self.derived = context, derived
        self._examine = examine
        self.run = self._examined(derived.case)
        self.why_unsure = None if derived.first_order is None else _why_unsure(self._examined(derived.first_order))

    def _examined(self, case: Case) -> Context:
        """Run the stages, on the core alone if the reference lacks an op."""
        options = replace(self.context.options, order=1, mode="reverse", power=False, shrink=None)
        reference = self.context.engines.reference
        core = reference if isinstance(reference, Core) else Core()
        run = self._examine(case, options, Engines((core,), reference))
        lacks = any(c.status == "unsupported" for c in run.found)
        return self._examine(case, options, Engines((core,), core)) if lacks else run

    def comparisons_of(self, stated: StatedDerivative) -> list[Comparison]:
        """Return the comparisons of a claim, of all entries where it fails."""
        what = ClaimKind.WRONG_FORMULA if stated.what.is_stated_wrong else ClaimKind.FORMULA
        return [self._of_entries(c) for c in self.run.found if c.what is what and stated in self._stated(c)]

    def _stated(self, c: Comparison) -> list[StatedDerivative]:
        return self.derived.claims.get((c.tensor, c.formula), ([], None))[0]

    def _of_entries(self, c: Comparison) -> Comparison:
        """Return the comparison of the entries, if they show the failure."""
        if c.certificate is not None and self.why_unsure is not None:
            c = replace(c, certificate=None).with_notes(self.why_unsure)
        added = self.derived.case.graph.keys() - self.context.case.graph.keys()
        notes = tuple(note for note in c.notes if note.kind not in _OF_A_GRADIENT)
        diagnoses = tuple(_of_derivative(c.diagnoses, added, self.derived.root, self._stated(c)))
        c = replace(c, cause=None, part=None, notes=notes, diagnoses=diagnoses)
        if c.trial is None or c.mask is None:
            return c
        try:
            point = self.run.points.at(c.trial)
        except LookupError:  # a point of documented functions
            return c.without_numbers(c.status)
        expr = self.derived.claims[c.tensor, c.formula][1]
        claims = StepClaims(point, point.last_step, self.context.options.tolerance)
        found = check_formula(claims, self.derived.term(c.tensor).name, Claim.of(expr))
        if found.mask is None:
            return c
        kept: dict[str, Any] = {"status": c.status, "mismatch": c.mismatch, "verdict": c.verdict}
        return replace(found, **kept, diagnoses=c.diagnoses, notes=c.notes)

    def comparisons_of_engines(self, by: Mapping[str, StatedDerivative]) -> list[Comparison]:
        """Return how engines agree on the derivative, contracted at random."""
        tested = {engine.name for engine in self.context.engines.tested}
        found = (c for c in self.run.found if c.what is ClaimKind.GRADIENT and c.tensor in by and c.engine in tested)
        return [c.with_subject(what=ClaimKind(by[c.tensor].term.kind), tensor=by[c.tensor].term.name) for c in found]


def _why_unsure(first_order: Context) -> Fact | None:
    """Return why the gradient of a Hessian is not known for sure, if so."""
    formulas = [c for c in first_order.found if c.what is ClaimKind.FORMULA]
    if all(c.status == "passed" for c in formulas) and any(c.certificate for c in formulas):
        return None
    unproved = (note for c in formulas for note in c.notes if note.kind == "not_proved")
    return next(unproved, fact("not_proved", why=fact("gradient_not_proved")))


def _of_derivative(
    diagnoses: Iterable[Diagnosis], added: set[str], root: str, stated: Sequence[StatedDerivative]
) -> Iterator[Diagnosis]:
    """Yield the diagnoses that hold for a derivative as for its contraction.

    A suggestion with a name that was `added` to the author's is none."""
    for one in diagnoses:
        path = dict(one.message["path"].data).values() if one.message.kind == "path_not_there" else ()
        if one.kind in _OF_ANY_CONTRACTION or (path and added.isdisjoint(path)):
            yield one
        if one.kind == "did_you_mean":
            meant = contracted_claim(parse(one.formula), root)
            if meant is not None and free_names(meant).keys().isdisjoint(added):
                yield from (did_you_mean(this.claim.text, to_text(meant), None) for this in stated[:1])
