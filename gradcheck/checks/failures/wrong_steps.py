"""Which step of a derivation is wrong first, and the formulas that are wrong only because of it.

A step (`let`) is the gradient of some tensor, whatever it is called. If formulas that fail are right as soon as the
tensor's true gradient stands in its place, the step is the cause and they are consequences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.closeness.nearly_equal import nearly_equal
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

#: So many steps of one case are told, and so many tensors are looked at for each.
MAX_STEPS, MOST_TENSORS = 3, 24
#: What is put around a tensor's name for its gradient's: `dZ2`, `grad_Z`, `Zbar`, `dL_dZ`.
_GRADIENT_AFFIXES = frozenset(
    ("d", "g", "grad", "gradient", "delta", "dl_d", "dloss_d", "dj_d", "de_d", "dl", "bar", "adj", "δ", "∂")
)


@dataclass(frozen=True, slots=True)
class WrongStep:
    """A step that should be a tensor's gradient, and the formulas that are right once it is: by tensor and text.
    `beside` are other steps that must be right for that, too."""

    name: str
    tensor: str
    fixed_formulas: tuple[tuple[str, str], ...]
    beside: tuple[str, ...] = ()


def blame_steps(context: Context, points: ExplanationPoints) -> None:
    """Add a comparison for each step that is wrong, as the cause of the formulas that follow from it."""
    case = context.case
    if not case.let or case.is_expected_to_fail or not context.points.own.is_complete:
        return
    failed = {(c.tensor, c.formula) for c in context.found if c.what is ClaimKind.FORMULA and c.status == "failed"}
    claims = claims_at(context, points)
    for found in wrong_steps(case, failed, claims):
        shown = _shown(found, case.let[found.name], claims)
        if shown is None:
            continue
        origin = fact("step", name=found.name)
        only = tuple(dict.fromkeys(tensor for tensor, _ in found.fixed_formulas))
        what = fact("step_is_wrong", tensors=only, missing=None, beside=found.beside)
        _mark_consequences(context, found.fixed_formulas, origin)
        context.found.append(replace(shown, cause=Cause(origin, what)))


def _mark_consequences(context: Context, mended: Sequence[tuple[str, str]], origin: Fact) -> None:
    """These formulas would be right but for the step."""

    def is_one(c: Comparison) -> bool:
        return c.what is ClaimKind.FORMULA and c.status == "failed" and (c.tensor, c.formula) in mended

    context.amend(is_one, lambda c: replace(c, consequence_of=origin))


def claims_at(context: Context, points: ExplanationPoints) -> list[StepClaims]:
    """The claims where a derivation is looked at again: the case's own numbers, what is the same in every run, and what
    else the run looked at."""
    of_run = points.points_of_run()
    listed = dict.fromkeys((*of_run[:1], *points.seed_independent(), *of_run))
    return [StepClaims(p, p.last_step, context.options.tolerance) for p in listed]


def wrong_steps(case: Case, failed: set[tuple[str, str]], claims: Sequence[StepClaims]) -> Iterator[WrongStep]:
    """The steps that are wrong, in the file's order; each is looked for with those before it mended."""
    formulas = [(name, claim) for name, listed in case.formulas.items() for claim in listed]
    waiting = [(name, claim) for name, claim in formulas if (name, claim.text) in failed]
    let = dict(case.let)
    for _ in range(MAX_STEPS):
        found = _first_wrong_step(case, let, waiting, claims)
        if found is None:
            return
        chain = _with_wrong_steps_before(case, let, found, claims)
        for one in chain:
            yield replace(one, beside=tuple(other.name for other in chain if other is not one))
            let[one.name] = Claim.of(Gradient(one.tensor))
        waiting = [(name, claim) for name, claim in waiting if (name, claim.text) not in found.fixed_formulas]


def _first_wrong_step(
    case: Case, let: Mapping[str, Claim], waiting: Sequence[tuple[str, Claim]], claims: Sequence[StepClaims]
) -> WrongStep | None:
    """The first step with which some formulas become right."""
    scopes = [scope_with_steps(case, let, one) for one in claims]
    for step in let:
        using = [(name, claim) for name, claim in waiting if step in case.let_steps_of(claim.expr)]
        for tensor in _tensors(step, scopes) if using else ():
            gradient = Claim.of(Gradient(tensor))
            mended = [scope_with_steps(case, {**let, step: gradient}, one) for one in claims]
            right = [(name, claim.text) for name, claim in using if is_right_everywhere(name, claim, mended)]
            if right:
                return WrongStep(step, tensor, tuple(right))
    return None


def _with_wrong_steps_before(
    case: Case, let: Mapping[str, Claim], found: WrongStep, claims: Sequence[StepClaims]
) -> tuple[WrongStep, ...]:
    """The step that was found, and those before it that are wrong by themselves, too: it may make up for them. They are
    known by what they are called."""
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
    """Whether a step has the name of a tensor's gradient: `dZ2`, `grad_Z2`, `Z2_bar`."""
    rest = step.removesuffix(tensor) if step.endswith(tensor) else step.removeprefix(tensor)
    return rest != step and rest.strip("_").lower() in _GRADIENT_AFFIXES


def scope_with_steps(case: Case, let: Mapping[str, Claim], claims: StepClaims) -> Scope:
    """What names stand for, with other steps."""
    return claims.point.with_claims(replace(case, let=dict(let))).scope(claims.step)


def _tensors(step: str, scopes: Sequence[Scope]) -> list[str]:
    """The tensors whose gradient the step may be meant to be, as their shapes and names have it, and is not; of a step
    that cannot be computed, all."""
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
    """Whether a step is not a tensor's gradient at most points: at a few it may overflow, or torch bound a number."""
    off = [not any(_is_gradient(step, tensor, [one], turned=turned) for turned in (False, True)) for one in scopes]
    return 2 * sum(off) > len(off)


def _is_gradient(step: str, tensor: str, scopes: Sequence[Scope], *, turned: bool = False) -> bool:
    values = [_value(step, scope) for scope in scopes]
    return all(
        _agree(value.T if turned and isinstance(value, np.ndarray) else value, scope.gradients[tensor])
        for value, scope in zip(values, scopes, strict=True)
    )


def is_right_everywhere(name: str, claim: Claim, scopes: Sequence[Scope]) -> bool:
    """Whether a formula comes to its tensor's gradient everywhere."""
    try:
        return all(_agree(scope.array_of(claim.expr), scope.gradients[name]) for scope in scopes)
    except (GradcheckError, KeyError):
        return False


def _agree(value: object, gradient: np.ndarray) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fcV" and nearly_equal(value, gradient)


def _shown(found: WrongStep, step: Claim, claims: Sequence[StepClaims]) -> Comparison | None:
    """The first comparison at which the step fails, of those that are kept."""
    for one in claims:
        if one.point.trial is not None or one is claims[0]:
            compared = check_formula(one, found.tensor, step)
            if compared.status == "failed":
                return compared
    return None


# What is to be explained ---------------------------------------------------------------------------------


def is_about_step(c: Comparison) -> bool:
    """Whether a comparison is about a step that is wrong."""
    return c.cause is not None and c.cause.origin.kind == "step"


def with_missing_factor(cause: Cause | None, diagnoses: Sequence[Diagnosis]) -> Cause | None:
    """The cause that a step is, with the factor that is missing there, if that is all."""
    if cause is None or cause.origin.kind != "step":
        return cause
    factor = next((d.message for d in diagnoses if d.message.kind == "off_by_sizes"), None)
    if factor is not None and factor["number"] == 1:
        factor = fact("factor_missing", powers=factor["powers"])
    what = fact("step_is_wrong", tensors=cause.what["tensors"], missing=factor, beside=cause.what["beside"])
    return replace(cause, what=what)


def case_with_fixed_steps(context: Context, c: Comparison) -> Case:
    """The case with the wrong steps that stand before what a comparison is about as the gradients that they are meant
    to be: else what is told of a formula would make up for a step that is mended, too."""
    case, right = context.case, {}
    for other in context.found:
        if is_about_step(other) and other.cause is not None:
            right[other.cause.origin["name"]] = _intended_step(other)
    before = list(case.let)
    if is_about_step(c) and c.cause is not None:
        before = before[: before.index(c.cause.origin["name"])]
    if right.keys().isdisjoint(before):
        return case
    return replace(case, let={**case.let, **{name: right[name] for name in before if name in right}})


def _intended_step(c: Comparison) -> Claim:
    """What a wrong step should be: the gradient of a tensor, or what it is without a slip."""
    if c.reference == MEANT:
        text = c.diagnoses[0].formula
        return Claim(text, parse(text))
    return Claim.of(Gradient(c.tensor))


def claim_of(case: Case, c: Comparison) -> Claim | None:
    """The formula, or the step of a derivation, that a comparison is about."""
    if is_about_step(c):
        assert c.cause is not None
        return case.let[c.cause.origin["name"]]
    return next((claim for claim in case.formulas.get(c.tensor, ()) if claim.text == c.formula), None)


def wrong_formulas(context: Context) -> list[tuple[int, Comparison, Claim]]:
    """Each formula that failed and is to be explained, and each step of a derivation, once, in the file's order: with
    the first comparison that shows it, and the place of that."""
    case = context.case
    found: dict[int, tuple[int, Comparison, Claim]] = {}
    for place, c in enumerate(context.found):
        if c.what is ClaimKind.FORMULA and c.status == "failed" and needs_explanation(c) and c.reference != MEANT:
            claim = claim_of(case, c)
            if claim is not None:
                found.setdefault(id(claim), (place, c, claim))
    listed = (*case.let.values(), *(claim for claims in case.formulas.values() for claim in claims))
    return [found[id(claim)] for claim in listed if id(claim) in found]


def needs_explanation(c: Comparison) -> bool:
    """Whether a formula is to be explained: not if it is a consequence, or right."""
    return c.consequence_of is None and not is_formula_supported(c.verdict)


def is_formula_supported(verdict: Fact | None) -> bool:
    """Whether a verdict on a formula sides with it: it is the reference that is wrong."""
    if verdict is None:
        return False
    formula = fact("the_formula")
    if verdict.kind == "oracle_sides_with":
        return bool(verdict["got"] == formula)
    if verdict.kind == "stands_alone":
        return bool(verdict["wrong"] != formula)
    return verdict.kind == "wrong_together" and formula not in verdict["wrong"]
