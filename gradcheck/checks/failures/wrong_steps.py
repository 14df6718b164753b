"""Wrong steps of a derivation, and the formulas that only they make wrong.

A step (`let`) is the gradient of some tensor, whatever its name. If failing formulas become right with that
gradient in its place, the step is their cause.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.closeness.compare import nearly_equal
from gradcheck.checks.context import Context
from gradcheck.checks.failures.explanation_points import ExplanationPoints
from gradcheck.checks.result import MEANT, Cause, Comparison, Diagnosis
from gradcheck.checks.scope import Scope
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.nodes import Gradient
from gradcheck.language.expr.parser import parse

#: The most steps that are reported, and tensors tried for each.
MAX_STEPS, MOST_TENSORS = 3, 24
#: Affixes of a tensor's name in its gradient's: `dZ2`, `grad_Z`, `Zbar`, `dL_dZ`.
_GRADIENT_AFFIXES = frozenset(
    ("d", "g", "grad", "gradient", "delta", "dl_d", "dloss_d", "dj_d", "de_d", "dl", "bar", "adj", "δ", "∂")
)


@dataclass(frozen=True, slots=True)
class WrongStep:
    """A step, its tensor, the formulas that it fixes, and other wrong steps."""

    name: str
    tensor: str
    fixed_formulas: tuple[tuple[str, str], ...]
    beside: tuple[str, ...] = ()


def blame_steps(context: Context, points: ExplanationPoints) -> None:
    """Add a comparison for each wrong step, as its formulas' cause."""
    case = context.case
    if not case.let or case.is_expected_to_fail or not context.points.own.is_complete:
        return
    failed = {(c.tensor, c.formula) for c in context.found if is_failed_formula(c)}
    if not failed:  # maybe without any point
        return
    claims = claims_at(context, points)
    right = right_steps(context, claims)
    for found in wrong_steps(case, failed, claims, right):
        shown = _failing_comparison(found, case.let[found.name], claims)
        if shown is not None:
            blame_step(context, found.name, shown, found.fixed_formulas, found.beside)


def blame_step(
    context: Context,
    step: str,
    compared: Comparison,
    formulas: Collection[tuple[str, str]],
    beside: tuple[str, ...] = (),
) -> None:
    """Add a wrong step's comparison as the cause of its failed formulas."""
    origin = fact("step", name=step)
    tensors = tuple(dict.fromkeys(tensor for tensor, _ in formulas))
    what = fact("step_is_wrong", tensors=tensors, missing=None, beside=beside)

    def follows(c: Comparison) -> bool:
        return is_failed_formula(c) and (c.tensor, c.formula) in formulas

    context.amend(follows, lambda c: replace(c, consequence_of=origin))
    context.found.append(replace(compared, cause=Cause(origin, what)))


def is_failed_formula(c: Comparison) -> bool:
    return c.what is ClaimKind.FORMULA and c.status == "failed"


def claims_at(context: Context, points: ExplanationPoints) -> list[StepClaims]:
    """Return the claims at the run's points and the seed-independent ones."""
    of_run = points.points_of_run()
    listed = dict.fromkeys((*of_run[:1], *points.seed_independent(), *of_run))
    return [StepClaims(p, p.last_step, context.options.tolerance) for p in listed]


def right_steps(context: Context, claims: Sequence[StepClaims]) -> set[str]:
    """Return steps that are a tensor's gradient, or that a right claim uses."""
    case = context.case
    held = {(c.what, c.tensor, c.formula) for c in context.found if c.what.is_general}
    held -= {(c.what, c.tensor, c.formula) for c in context.found if c.status != "passed"}
    listed = [(ClaimKind.FORMULA, name, claim) for name, claims_of in case.formulas.items() for claim in claims_of]
    listed += [(ClaimKind.CHECK, "", claim) for claim in case.checks]
    holding = [claim for what, name, claim in listed if (what, name, claim.text) in held]
    scopes = [scope_with_steps(case, case.let, one) for one in claims]
    gradients = {step for step in case.let if _is_right_gradient(step, scopes)}
    return gradients.union(*(case.let_steps_of(claim.expr) for claim in holding))


def _is_right_gradient(step: str, scopes: Sequence[Scope]) -> bool:
    """Return whether it is a tensor's gradient, and not named for another's."""
    tensors = scopes[0].gradients
    meant = [tensor for tensor in tensors if _is_named_for(step, tensor)] or tensors
    return any(_is_gradient(step, tensor, scopes) for tensor in meant)


def wrong_steps(
    case: Case, failed: set[tuple[str, str]], claims: Sequence[StepClaims], right: Collection[str]
) -> Iterator[WrongStep]:
    """Yield the wrong steps in the file's order, each with earlier ones fixed.

    Steps that are known to be `right` are none of them."""
    formulas = [(name, claim) for name, listed in case.formulas.items() for claim in listed]
    waiting = [(name, claim) for name, claim in formulas if (name, claim.text) in failed]
    let = dict(case.let)
    for _ in range(MAX_STEPS):
        found = _first_wrong_step(case, let, waiting, claims, right)
        if found is None:
            return
        chain = _with_wrong_steps_before(case, let, found, claims)
        for one in chain:
            yield replace(one, beside=tuple(other.name for other in chain if other is not one))
            let[one.name] = Claim.of(Gradient(one.tensor))
        waiting = [(name, claim) for name, claim in waiting if (name, claim.text) not in found.fixed_formulas]


def _first_wrong_step(
    case: Case,
    let: Mapping[str, Claim],
    waiting: Sequence[tuple[str, Claim]],
    claims: Sequence[StepClaims],
    right: Collection[str],
) -> WrongStep | None:
    """Return the first step that makes some formulas right."""
    scopes = [scope_with_steps(case, let, one) for one in claims]
    for step in (step for step in let if step not in right):
        using = [(name, claim) for name, claim in waiting if step in case.let_steps_of(claim.expr)]
        for tensor in _tensors(step, scopes) if using else ():
            gradient = Claim.of(Gradient(tensor))
            mended = [scope_with_steps(case, {**let, step: gradient}, one) for one in claims]
            fixed = [(name, claim.text) for name, claim in using if is_right_everywhere(name, claim, mended)]
            if fixed:
                return WrongStep(step, tensor, tuple(fixed))
    return None


def _with_wrong_steps_before(
    case: Case, let: Mapping[str, Claim], found: WrongStep, claims: Sequence[StepClaims]
) -> tuple[WrongStep, ...]:
    """Return a step and, by name, earlier wrong ones that it makes up for."""
    right = dict(let)
    before: list[WrongStep] = []
    for step in case.let_steps_of(let[found.name].expr):
        scopes = [scope_with_steps(case, right, one) for one in claims]
        tensor = next((t for t in scopes[0].gradients if _is_named_for(step, t)), "")
        if tensor and _differs_from_gradient(step, tensor, scopes):
            right[step] = Claim.of(Gradient(tensor))
            before.append(WrongStep(step, tensor, found.fixed_formulas))
    scopes = [scope_with_steps(case, right, one) for one in claims]
    own = () if before and _is_gradient(found.name, found.tensor, scopes) else (found,)
    return (*before, *own)


def _is_named_for(step: str, tensor: str) -> bool:
    """Return whether a step is named for a gradient: `dZ2`, `grad_Z2`."""
    rest = step.removesuffix(tensor) if step.endswith(tensor) else step.removeprefix(tensor)
    return rest != step and rest.strip("_").lower() in _GRADIENT_AFFIXES


def scope_with_steps(case: Case, let: Mapping[str, Claim], claims: StepClaims) -> Scope:
    return claims.point.with_claims(replace(case, let=dict(let))).scope(claims.step)


def _tensors(step: str, scopes: Sequence[Scope]) -> list[str]:
    """Return the tensors whose gradient a step may mean, by shape and name."""
    known = scopes[0].gradients
    fitting = [name for name in known if _may_be(step, name, scopes) and not _is_gradient(step, name, scopes)]
    ranked = sorted(fitting, key=lambda name: (not _is_named_for(step, name), name not in step, -len(name)))
    return ranked[:MOST_TENSORS]


def _may_be(step: str, tensor: str, scopes: Sequence[Scope]) -> bool:
    if any(scope.gradients.get(tensor) is None for scope in scopes):
        return False
    values = [(_value(step, scope), scope.gradients[tensor].shape) for scope in scopes]
    fits = all(value is None or (isinstance(value, np.ndarray) and value.shape == shape) for value, shape in values)
    return fits or _is_named_for(step, tensor)


def _value(step: str, scope: Scope) -> object:
    try:
        return scope[step]
    except (GradcheckError, KeyError):
        return None


def _differs_from_gradient(step: str, tensor: str, scopes: Sequence[Scope]) -> bool:
    """Return whether a step differs at most points: a few may overflow."""
    ways = (False, True)
    off = [not any(_is_gradient(step, tensor, [one], transposed=way) for way in ways) for one in scopes]
    return 2 * sum(off) > len(off)


def _is_gradient(step: str, tensor: str, scopes: Sequence[Scope], *, transposed: bool = False) -> bool:
    values = [_value(step, scope) for scope in scopes]
    return all(
        _agree(value.T if transposed and isinstance(value, np.ndarray) else value, scope.gradients[tensor])
        for value, scope in zip(values, scopes, strict=True)
    )


def is_right_everywhere(name: str, claim: Claim, scopes: Sequence[Scope]) -> bool:
    """Return whether a formula gives its tensor's gradient everywhere."""
    try:
        return all(_agree(scope.array_of(claim.expr), scope.gradients[name]) for scope in scopes)
    except (GradcheckError, KeyError):
        return False


def _agree(value: object, gradient: np.ndarray) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fcV" and nearly_equal(value, gradient)


def _failing_comparison(found: WrongStep, step: Claim, claims: Sequence[StepClaims]) -> Comparison | None:
    for one in claims:
        if one.point.trial is not None or one is claims[0]:
            compared = check_formula(one, found.tensor, step)
            if compared.status == "failed":
                return compared
    return None


def with_missing_factor(cause: Cause | None, diagnoses: Sequence[Diagnosis]) -> Cause | None:
    """Return a step's cause with the missing factor, if that is all."""
    if cause is None or cause.origin.kind != "step":
        return cause
    factor = next((d.message for d in diagnoses if d.message.kind == "off_by_sizes"), None)
    if factor is not None and factor["number"] == 1:
        factor = fact("factor_missing", powers=factor["powers"])
    what = fact("step_is_wrong", tensors=cause.what["tensors"], missing=factor, beside=cause.what["beside"])
    return replace(cause, what=what)


def case_with_fixed_steps(context: Context, c: Comparison) -> Case:
    """Return the case with the wrong steps before a comparison's fixed.

    A suggestion must not make up for another step's mistake.
    """
    case, right = context.case, {}
    for other in context.found:
        if other.wrong_step:
            right[other.wrong_step] = _intended_step(other)
    before = list(case.let)
    if c.wrong_step:
        before = before[: before.index(c.wrong_step)]
    if right.keys().isdisjoint(before):
        return case
    return replace(case, let={**case.let, **{name: right[name] for name in before if name in right}})


def _intended_step(c: Comparison) -> Claim:
    if c.reference == MEANT:
        text = c.diagnoses[0].formula
        return Claim(text, parse(text))
    return Claim.of(Gradient(c.tensor))


def claim_of(case: Case, c: Comparison) -> Claim | None:
    """Return the formula or step that a comparison is about."""
    if c.wrong_step:
        return case.let[c.wrong_step]
    return next((claim for claim in case.formulas.get(c.tensor, ()) if claim.text == c.formula), None)


def wrong_formulas(context: Context) -> list[tuple[int, Comparison, Claim]]:
    """Return formulas and steps to explain, with first failure and place."""
    case = context.case
    found: dict[int, tuple[int, Comparison, Claim]] = {}
    for place, c in enumerate(context.found):
        if is_failed_formula(c) and needs_explanation(c) and c.reference != MEANT:
            claim = claim_of(case, c)
            if claim is not None:
                found.setdefault(id(claim), (place, c, claim))
    listed = (*case.let.values(), *(claim for claims in case.formulas.values() for claim in claims))
    return [found[id(claim)] for claim in listed if id(claim) in found]


def needs_explanation(c: Comparison) -> bool:
    """Return whether it is wrong by itself, not for a NaN or overflow alone."""
    why = c.mismatch
    is_overflow = why is not None and why.kind == "undefined_at" and why["overflows"]
    is_nonfinite = is_overflow or (why is not None and why.kind == "nonfinite_gradient")
    return c.consequence_of is None and not is_nonfinite and not is_formula_supported(c.verdict)


def is_formula_supported(verdict: Fact | None) -> bool:
    """Return whether a verdict blames the reference, not the formula."""
    if verdict is None:
        return False
    formula = fact("the_formula")
    if verdict.kind == "oracle_sides_with":
        return bool(verdict["got"] == formula)
    if verdict.kind == "stands_alone":
        return bool(verdict["wrong"] != formula)
    return verdict.kind == "wrong_together" and formula not in verdict["wrong"]
