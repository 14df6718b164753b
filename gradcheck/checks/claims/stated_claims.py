"""Check stated values, gradients and identities after each step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op
from gradcheck.checks.branches.branch_sites import FLIPPABLE_OPS
from gradcheck.checks.claims.evaluations import place_of
from gradcheck.checks.claims.precise_recheck import refute_stated_gradients
from gradcheck.checks.closeness.compare import compare, is_all_nan_or_empty
from gradcheck.checks.closeness.conditioning import Conditioning
from gradcheck.checks.closeness.rough_rounding import sure_allowance
from gradcheck.checks.closeness.rounding import allow_rounding, capped_allowance
from gradcheck.checks.closeness.tolerance import Tolerance, base, claim_tolerance
from gradcheck.checks.context import Context
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Subject
from gradcheck.checks.scope import Scope
from gradcheck.engines.base import Evaluation, State
from gradcheck.errors import GradcheckError, Place
from gradcheck.facts import fact
from gradcheck.language.case import Case, Claim, StatedTolerance, Step, Value
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.evaluation.host import NUMPY, Host
from gradcheck.language.expr.traverse import compares_with_itself, inline_steps, ops_in
from gradcheck.language.sampling import claimed_array

_FLOAT64, _COMPLEX128 = np.dtype(np.float64), np.dtype(np.complex128)


def applies(context: Context) -> bool:
    """Return whether no unexpected error was raised."""
    return not context.errors


def check(context: Context) -> Iterator[Comparison]:
    """Check the claims of steps, then top-level ones after the last step."""
    want = context.points.own.want
    if context.can_be_checked:
        yield from _check_steps(context)
    elif not want.states and want.error:
        yield from uncompared_claims(context.case, want)


def _check_steps(context: Context) -> Iterator[Comparison]:
    case, point, run = context.case, context.points.own, context.options.tolerance
    for index in range(len(point.want.states)):
        levels: list[Step | Case] = [case.steps[index]]
        levels += [case] if index == point.last_step else []
        for level in levels:
            if not (level.values or level.expected or level.checks):
                continue
            claims = StepClaims(point, index, run)
            states = {name: e.states[index] for name, e in point.evaluations().items() if _has_state(e, index)}
            compared = list(compare_stated(claims, level, states))
            found = allow_rounding(compared, point.conditioning)
            yield from refute_stated_gradients(compared, found, point) if context.options.oracle != "none" else found
            for claim in level.checks:
                yield check_identity(claims, claim)


def _has_state(evaluation: Evaluation, index: int) -> bool:
    able = evaluation.error is None or evaluation.error.kind != "unsupported"
    return able and index < len(evaluation.states)


@dataclass(frozen=True, slots=True)
class StepClaims:
    """The claims about one step at one point, and the run's tolerance."""

    point: Point
    step: int
    run: StatedTolerance | None = None
    known_failures: Collection[tuple[str, str]] = ()  # formulas, by tensor and text, wrong elsewhere

    @property
    def case(self) -> Case:
        return self.point.problem.case

    @property
    def scope(self) -> Scope:
        """The names that claims may use after the step."""
        return self.point.scope(self.step)

    def subject(self, what: ClaimKind, tensor: str, place: Place, engine: str = "case", formula: str = "") -> Subject:
        """Return the subject of an engine's claim, or of the case's."""
        reference = self.point.engines.reference.name if engine == "case" else "case"
        return Subject(what, tensor, self.step, engine, reference, place, formula, self.point.trial)

    def tolerance(self, tensor: str, dtype: np.dtype) -> Tolerance:
        """Return the tolerance of a tensor, "" for none in particular."""
        return claim_tolerance(self.case.tolerance, tensor, dtype, self.run)

    def compare(self, got: np.ndarray | None, want: np.ndarray | None, subject: Subject) -> Comparison:
        """Compare two arrays at the tolerance of the subject's tensor."""
        either = want if want is not None else got
        dtype = either.dtype if either is not None else _FLOAT64
        return compare(got, want, self.tolerance(subject.tensor, dtype), subject)


def compare_stated(claims: StepClaims, level: Step | Case, states: Mapping[str, State]) -> Iterator[Comparison]:
    """Compare every engine's values and gradients with the stated ones."""
    for engine, state in states.items():
        for name, value in level.values.items():
            yield _compare_stated_value(claims, ClaimKind.EXPECTED_VALUE, name, value, (engine, state.values.get(name)))
        for name, stated in level.expected.items():
            if name in state.unread:
                continue
            actual = state.gradients.get(name)
            place = stated.place if stated else place_of(claims.case, name)
            subject = claims.subject(ClaimKind.EXPECTED, name, place, engine)
            if name not in state.gradients and name not in state.values:
                yield subject.failed(fact("says_nothing", engine=engine, tensor=name))
            elif stated is None:
                # `null` means none, or only zeros
                yield subject.passed() if actual is None else compare(actual, None, base(actual.dtype), subject)
            else:
                tensor = state.values.get(name)
                yield _compare_stated_value(claims, ClaimKind.EXPECTED, name, stated, (engine, actual), tensor)


def _compare_stated_value(
    claims: StepClaims,
    what: ClaimKind,
    name: str,
    value: Value,
    answer: tuple[str, np.ndarray | None],
    tensor: np.ndarray | None = None,
) -> Comparison:
    """Compare one tensor. Raises InvalidCase if the statement has no value.

    Of a `tensor` without a gradient, stated zeros must have the shape."""
    engine, actual = answer
    subject = claims.subject(what, name, value.place, engine)
    stated = claimed_array(claims.point.problem, value)
    if actual is None and isinstance(tensor, np.ndarray) and tensor.shape != stated.shape:
        actual = np.zeros_like(tensor)
    if actual is not None:
        stated, actual = align_dtypes(stated, actual)
    return claims.compare(actual, stated, subject)


def uncompared_claims(case: Case, evaluation: Evaluation) -> Iterator[Comparison]:
    """Yield claims without a graph value: failed or unsupported; None passes."""
    last = len(case.steps) - 1
    levels: list[tuple[int, Step | Case]] = [*enumerate(case.steps), (last, case)]
    is_lacking = evaluation.error is not None and evaluation.error.kind == "unsupported"

    def of(what: ClaimKind, step: int, tensor: str, claim: Value | Claim) -> Comparison:
        formula = claim.text if isinstance(claim, Claim) else ""
        subject = Subject(what, tensor, step, evaluation.engine, "case", claim.place, formula)
        missed = subject.failed(fact("not_evaluated", entry=evaluation.failed_at))
        return replace(missed, status="unsupported") if is_lacking else missed

    for step, level in levels:
        yield from (of(ClaimKind.EXPECTED_VALUE, step, name, value) for name, value in level.values.items())
        yield from (of(ClaimKind.EXPECTED, step, name, value) for name, value in level.expected.items() if value)
        yield from (of(ClaimKind.CHECK, step, "", claim) for claim in level.checks)
    for what, formulas in ((ClaimKind.FORMULA, case.formulas), (ClaimKind.WRONG_FORMULA, case.wrong_formulas)):
        for name, claims in formulas.items():
            yield from (of(what, last, name, claim) for claim in claims)


def align_dtypes(stated: np.ndarray, actual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both arrays in one dtype.

    A written number takes the tensor's dtype, unless that would lose an imaginary part or a fraction."""
    if stated.dtype == actual.dtype:
        return stated, actual
    if actual.dtype.kind == "c" or (actual.dtype.kind in "fV" and stated.dtype.kind != "c"):
        with np.errstate(all="ignore"):
            return stated.astype(actual.dtype), actual
    if stated.dtype.kind in "biu" and actual.dtype.kind in "biu":
        return stated.astype(np.int64), actual.astype(np.int64)
    wide = _COMPLEX128 if "c" in (stated.dtype.kind, actual.dtype.kind) else _FLOAT64
    return stated.astype(wide), actual.astype(wide)


class CheckHost:
    """Ops on arrays, where `==`, recorded, means equal within tolerance."""

    def __init__(self, equal: Callable[[np.ndarray, np.ndarray, int], np.ndarray], host: Host = NUMPY) -> None:
        self._host, self._equal = host, equal
        self.compared_pairs: list[tuple[np.ndarray, np.ndarray]] = []

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the op's result; for `==`, the mask of equal elements."""
        if op.name != "eq" or len(args) != 2:
            return self._host.call(op, args, kwargs)
        exact = self._host.call(op, args, kwargs)  # shapes that do not broadcast raise here
        left, right = _align_sides(*(np.asarray(arg) if hasattr(arg, "dtype") else arg for arg in args))
        left, right = np.broadcast_arrays(left, right)
        self.compared_pairs.append((left, right))
        return exact | self._equal(left, right, len(self.compared_pairs) - 1)

    def dtype(self, name: str) -> Any:
        return self._host.dtype(name)


def _align_sides(left: Any, right: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return both sides in one dtype; a Python number takes the tensor's."""
    if isinstance(left, np.ndarray) and not isinstance(right, np.ndarray):
        return align_dtypes(np.asarray(right), left)[::-1]
    if not isinstance(left, np.ndarray):
        return align_dtypes(np.asarray(left), np.asarray(right))
    if left.dtype.kind in "fV" and right.dtype.kind in "fV" and right.dtype.itemsize < left.dtype.itemsize:
        return left.astype(right.dtype), right  # no closer than the coarser of the two
    return align_dtypes(left, right)


def check_identity(claims: StepClaims, claim: Claim) -> Comparison:
    """Check one identity, with an allowance for rounding if it fails."""
    found = _evaluate_identity(claims, claim)
    conditioning = claims.point.conditioning
    if found.status != "failed" or not conditioning.may_explain(found):
        return found

    def differences(scope: Scope) -> list[np.ndarray]:
        host = CheckHost(lambda left, right, index: np.ones(right.shape, bool), scope.host)
        scope.value_of(claim.expr, host)
        return [
            left - right if dtypes.is_differentiable(left.dtype) else np.zeros(left.shape)
            for left, right in host.compared_pairs
        ]

    for slacks in _slacks(conditioning, claims.step, differences):
        again = _evaluate_identity(claims, claim, slacks)
        if again.status == "passed":
            return again.with_notes(fact("check_within_rounding"))
    return found


def _slacks(
    conditioning: Conditioning, step: int, differences: Callable[[Scope], list[np.ndarray]]
) -> Iterator[list[np.ndarray | None]]:
    """Yield what rounding explains of each `==`: first roughly, then measured."""
    limit = conditioning.limit
    for noises, most in (
        (conditioning.rough_rounding.noises_of_claim, sure_allowance),
        (conditioning.claim_allowances, capped_allowance),
    ):
        found = [None if noise is None else most(noise, limit) for noise in noises(step, differences)]
        if found:
            yield found


def _evaluate_identity(claims: StepClaims, claim: Claim, slacks: list[np.ndarray | None] | None = None) -> Comparison:
    subject = claims.subject(ClaimKind.CHECK, "", claim.place, formula=claim.text)
    compared: list[Comparison] = []

    def equal(left: np.ndarray, right: np.ndarray, index: int) -> np.ndarray:
        slack = slacks[index] if slacks and index < len(slacks) else None
        compared.append(compare(left, right, claims.tolerance("", right.dtype), subject, slack))
        mask = compared[-1].mask
        return np.ones(right.shape, bool) if mask is None else ~mask

    try:
        value = np.asarray(claims.scope.value_of(claim.expr, CheckHost(equal)))
    except (GradcheckError, ValueError, TypeError) as error:
        kind = error.kind if isinstance(error, GradcheckError) else "error"
        return subject.failed(fact("claim_raised", error=kind, text=str(error), told=None))
    if value.dtype != np.bool_:
        return subject.failed(fact("no_comparison"))
    if not value.all():
        failed = next((c for c in compared if c.status == "failed"), None)
        return failed or subject.failed(fact("is_not_true"), got_array=value)
    notes = tuple(dict.fromkeys(note for c in compared for note in c.notes))
    is_only_equality = compared and FLIPPABLE_OPS.intersection(ops_in(claim.expr)) == {"eq"}
    if not value.size or (is_only_equality and not any(c.elements for c in compared)):
        notes += (fact("no_elements"),)
    elif is_only_equality and all(map(is_all_nan_or_empty, compared)):
        notes += (fact("only_nan"),)
    if claims.point.trial is None:
        steps = {name: claims.case.let[name].expr for name in claims.case.let_steps_of(claim.expr)}
        if compares_with_itself(inline_steps(claim.expr, steps)):
            notes += (fact("same_sides", check=claim.text),)
    return replace(subject.passed(), elements=value.size, notes=notes)
