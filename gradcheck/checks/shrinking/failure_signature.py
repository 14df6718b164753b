"""In which way a case fails, so that a smaller one is held to failing in the same way; and the case with only that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.result import CaseResult, Comparison, Failure
from gradcheck.facts import Fact
from gradcheck.language.case import Case, Claim, Generalize, Step, Value
from gradcheck.language.trial_draws import can_vary_in_trials

#: What cannot be tried over and over.
_NOT_REPEATABLE = ("timeout", "memory")
#: What is the file's own mistake, in one entry that is known.
_MISTAKES = ("refused", "root_of_many", "root_of_none", "step_refused")
#: Facts whose `error` is a kind of error, not what it said.
_OF_ERRORS = ("raised", "claim_raised", "step_raised")
#: Facts whose `text` is what an op says of its arguments, in which numbers are sizes.
_SAID_BY_OPS, _NUMBER = ("forward_raised", "step_raised"), re.compile(r"\d+")
#: What is said of a difference in numbers only because of where it was found.
_WHEREABOUTS = ("not_at_other_numbers",)


@dataclass(frozen=True, slots=True)
class FailureSignature:
    """The `kind` of claim that fails (None: the case as a whole), `how` (kinds of facts or errors, an op), of whom;
    for a claim of the file also which one it is, and whether it fails `elsewhere` alone, not at the case's own numbers.
    """

    kind: ClaimKind | None
    details: tuple[str, ...]
    engine: str = ""
    tensor: str = ""
    formula: str = ""
    is_of_trial: bool = field(default=False, compare=False)

    @property
    def is_claim(self) -> bool:
        """Whether it is the file's own statement that fails, and not an engine."""
        return self.kind is not None and self.kind.is_stated_by_file


def signature_of(result: CaseResult) -> FailureSignature | None:
    """None for a case that does not fail, or in no way that could be tried again."""
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
    if failure.kind in _NOT_REPEATABLE or failure.message.kind in _MISTAKES:
        return None
    return FailureSignature(None, (failure.kind, *_raised(failure.message)))


def _raised(found: Fact) -> Iterator[str]:
    """What was raised: an exception's type, or what an op found fault with, whatever the sizes."""
    for name, value in found.data:
        if isinstance(value, Fact):
            yield from _raised(value)
        elif name == "error" and found.kind == "crashed":
            yield str(value)
        elif name == "text" and found.kind in _SAID_BY_OPS:
            yield _NUMBER.sub("#", str(value))


def causes_of(result: CaseResult) -> frozenset[str]:
    """The kinds of mistakes that are known to explain what fails, in a result that was looked into."""
    lead = main_failure_of(result)
    found = lead.diagnoses if lead is not None else ()
    return frozenset(d.kind for d in found if d.confidence)


def main_failure_of(result: CaseResult) -> Comparison | None:
    """The failed comparison that says most, the case's own numbers before those of trials.

    Gradients of gradients and forward mode are left out: a case file alone does not ask for them; and steps of a
    derivation, which claim nothing by themselves.
    """
    failed = [c for c in result.comparisons if c.status == "failed" and _is_asked_for(c)]
    return min(failed, key=lambda c: (c.what.rank, c.what.is_stated_by_file, c.trial is not None), default=None)


def _is_asked_for(c: Comparison) -> bool:
    is_step = c.cause is not None and c.cause.origin.kind == "step"
    return not c.what.is_asked_for_by_run and not is_step


def _failure_details(c: Comparison) -> tuple[str, ...]:
    """The op whose rule is wrong, or what kind of difference there is."""
    if c.operation is not None:
        error = c.operation.mine.error
        return (c.operation.application.op.name, *([error.kind] if error is not None else ()))
    if c.mismatch is None or c.mismatch.kind in _WHEREABOUTS:
        return ("numbers",)
    return tuple(_kinds(c.mismatch))


def _kinds(found: Fact) -> Iterator[str]:
    """The kinds of a fact and of those in it, and the kinds of errors that these speak of."""
    yield found.kind
    for name, value in found.data:
        if isinstance(value, Fact) and found.kind != "claim_raised":  # which says no more in other words
            yield from _kinds(value)
        elif name == "error" and found.kind in _OF_ERRORS:
            yield str(value)


# What is left of the case -----------------------------------------------------------------------------


def without_other_claims(case: Case, signature: FailureSignature) -> Case:
    """The case with nothing said but what fails with this signature."""
    kept = replace(
        case,
        name=f"{case.name}, smallest"[:200],
        description="",
        source="",
        tags=(),
        only=(),
        skip=None,
        xfail=None,
        values={},
        expected={},
        formulas={},
        wrong_formulas={},
        checks=(),
        steps=tuple(replace(step, values={}, expected={}, checks=()) for step in case.steps),
    )
    kind = signature.kind
    if kind is None or not kind.is_stated_by_file:
        return replace(kept, let={}, tolerance={})
    if case.generalize is None and kind.is_general and not can_vary_in_trials(case):
        kept = replace(kept, generalize=Generalize())  # which goes without saying
    if kind is ClaimKind.FORMULA:
        return replace(kept, formulas=_first(case.formulas, signature))
    if kind is ClaimKind.WRONG_FORMULA:
        return replace(kept, wrong_formulas=_first(case.wrong_formulas, signature))
    steps = tuple(
        replace(step, **_stated(old, kind, signature)) for step, old in zip(kept.steps, case.steps, strict=True)
    )
    return replace(kept, steps=steps, **_stated(case, kind, signature))


def _first(claims: Mapping[str, tuple[Claim, ...]], signature: FailureSignature) -> dict[str, tuple[Claim, ...]]:
    """The formula that fails, once."""
    chosen = tuple(claim for claim in claims.get(signature.tensor, ()) if claim.text == signature.formula)
    return {signature.tensor: chosen[:1]}


def _stated(level: Case | Step, kind: ClaimKind, signature: FailureSignature) -> dict[str, Any]:
    """Of what is stated after a step, or for the last, the check or the known numbers that fail."""
    if kind is ClaimKind.CHECK:
        return {"checks": tuple(claim for claim in level.checks if claim.text == signature.formula)}
    section = "values" if kind is ClaimKind.EXPECTED_VALUE else "expected"
    stated: Mapping[str, Value | None] = getattr(level, section)
    return {section: {name: value for name, value in stated.items() if name == signature.tensor}}
