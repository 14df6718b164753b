"""The way a case fails, so that a smaller case fails in the same way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gradcheck.checks.result import CaseResult, Comparison, Failure
from gradcheck.facts import Fact
from gradcheck.language.case import Case, Claim, Step, Value
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.nodes import Derivative
from gradcheck.language.trial_draws import can_vary_in_trials, is_general, with_trials

#: Errors that cannot be tried repeatedly.
_NOT_REPEATABLE = ("timeout", "memory")
#: Errors of the file itself, in a known entry.
_MISTAKES = ("refused", "root_of_many", "complex_root", "root_of_none", "step_refused")
#: Ends of a process, which a repetition would bring to the process that repeats it.
_ENDS = ("process_ended",)
#: Facts whose `error` is a kind of error.
_OF_ERRORS = ("raised", "claim_raised", "step_raised")
#: Facts whose `text` is an op's message about its arguments, in which numbers are sizes.
_SAID_BY_OPS, _NUMBER = ("forward_raised", "step_raised"), re.compile(r"\d+")
#: Facts that only tell where a difference was found.
_WHEREABOUTS = ("not_at_other_numbers",)


@dataclass(frozen=True, slots=True)
class FailureSignature:
    """The way a case fails: the kind of claim, details and the engine.

    `kind` is None for the case as a whole. `details` are kinds of facts or errors, or an op. For a claim of the file,
    `tensor` and `formula` identify it, and `is_of_trial`: it fails only away from the case's own numbers."""

    kind: ClaimKind | None
    details: tuple[str, ...]
    engine: str = ""
    tensor: str = ""
    formula: str = ""
    is_of_trial: bool = field(default=False, compare=False)

    @property
    def is_claim(self) -> bool:
        """True if a statement of the file fails, not an engine."""
        return self.kind is not None and self.kind.is_stated_by_file


def signature_of(result: CaseResult) -> FailureSignature | None:
    """Return the signature of a result; None if it cannot be repeated."""
    if result.status not in ("failed", "crashed"):
        return None
    if result.errors:
        return _error_signature(result.errors[0])
    lead = main_failure_of(result)
    if lead is None:
        return None
    if lead.what.is_stated_by_file:
        return FailureSignature(
            lead.what, _failure_details(lead), lead.engine, lead.tensor, lead.formula, lead.trial is not None
        )
    return FailureSignature(lead.what, _failure_details(lead), lead.engine)


def _error_signature(failure: Failure) -> FailureSignature | None:
    if failure.kind in _NOT_REPEATABLE or failure.message.kind in (*_MISTAKES, *_ENDS):
        return None
    return FailureSignature(None, (failure.kind, *_raised(failure.message)))


def _raised(found: Fact) -> Iterator[str]:
    """Yield an exception's type, or an op's message without sizes."""
    for name, value in found.data:
        if isinstance(value, Fact):
            yield from _raised(value)
        elif name == "error" and found.kind == "crashed":
            yield str(value)
        elif name == "text" and found.kind in _SAID_BY_OPS:
            yield _NUMBER.sub("#", str(value))


def causes_of(result: CaseResult) -> frozenset[str]:
    """Return the kinds of diagnosed mistakes of a result."""
    lead = main_failure_of(result)
    found = lead.diagnoses if lead is not None else ()
    return frozenset(d.kind for d in found if d.confidence)


def main_failure_of(result: CaseResult) -> Comparison | None:
    """Return the most significant failed comparison, own numbers first.

    Second order and forward mode are left out, since a file alone does not enable them; so are steps of a derivation.
    """
    asked = (c for c in result.comparisons if c.status == "failed" and not c.what.is_asked_for_by_run)
    failed = [c for c in asked if c.cause is None or c.cause.origin.kind != "step"]
    return min(failed, key=lambda c: (c.what.rank, c.what.is_stated_by_file, c.trial is not None), default=None)


def _failure_details(c: Comparison) -> tuple[str, ...]:
    """Return the op with a wrong rule, or the kind of difference."""
    if c.operation is not None:
        error = c.operation.mine.error
        return (c.operation.application.op.name, *([error.kind] if error is not None else ()))
    return ("numbers",) if c.mismatch is None or c.mismatch.kind in _WHEREABOUTS else tuple(_kinds(c.mismatch))


def _kinds(found: Fact) -> Iterator[str]:
    """Yield the kinds of a fact, its parts and their errors."""
    yield found.kind
    for name, value in found.data:
        if isinstance(value, Fact) and found.kind != "claim_raised":  # its parts repeat it
            yield from _kinds(value)
        elif name == "error" and found.kind in _OF_ERRORS:
            yield str(value)


def without_other_claims(case: Case, signature: FailureSignature) -> Case:
    """Return the case with the failing claim only."""
    kept = replace(
        case.without_claims(),
        name=f"{case.name}, smallest"[:200],
        description="",
        source="",
        tags=(),
        only=(),
        skip=None,
        xfail=None,
        let=case.let,
        steps=tuple(replace(step, values={}, expected={}, checks=()) for step in case.steps),
    )
    kind = signature.kind
    if kind is None or not kind.is_stated_by_file:
        return replace(kept, let={}, tolerance={})
    if not is_general(case) and kind.is_general and not can_vary_in_trials(case):
        kept = with_trials(kept)  # implied by the kind of claim
    if kind is ClaimKind.FORMULA:
        return replace(kept, formulas=_first(case.formulas, signature))
    if kind is ClaimKind.WRONG_FORMULA:
        return replace(kept, wrong_formulas=_first(case.wrong_formulas, signature))
    if kind.is_about_derivative:
        return replace(kept, **_derivative(case, kind, signature))
    steps = tuple(
        replace(step, **_stated(old, kind, signature)) for step, old in zip(kept.steps, case.steps, strict=True)
    )
    return replace(kept, steps=steps, **_stated(case, kind, signature))


def _first(claims: Mapping[str, tuple[Claim, ...]], signature: FailureSignature) -> dict[str, tuple[Claim, ...]]:
    chosen = tuple(claim for claim in claims.get(signature.tensor, ()) if claim.text == signature.formula)
    return {signature.tensor: chosen[:1]}


def _derivative(case: Case, kind: ClaimKind, signature: FailureSignature) -> dict[str, Any]:
    """Return the section with the claim about a Jacobian or a Hessian alone."""
    of, *by = Derivative(signature.tensor).tensors
    section, named = f"{kind}s", replace(signature, tensor=", ".join(by))
    return {section: {of: _first(getattr(case, section).get(of, {}), named)}}


def _stated(level: Case | Step, kind: ClaimKind, signature: FailureSignature) -> dict[str, Any]:
    """Return the failing check or stated numbers of a level."""
    if kind is ClaimKind.CHECK:
        return {"checks": tuple(claim for claim in level.checks if claim.text == signature.formula)}
    section = "values" if kind is ClaimKind.EXPECTED_VALUE else "expected"
    stated: Mapping[str, Value | None] = getattr(level, section)
    return {section: {name: value for name, value in stated.items() if name == signature.tensor}}
