"""In which way a case fails, so that a smaller one can be held to failing in the same way and in no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck.checks.result import CaseResult, ClaimKind, Comparison, Failure
from gradcheck.facts import Fact

#: What cannot be tried over and over.
_HOPELESS = ("timeout", "memory")
#: Facts whose `error` is a kind of error, not what it said.
_OF_ERRORS = ("raised", "claim_raised", "step_raised")
#: What is said of a difference in numbers only because of where it was found.
_WHEREABOUTS = ("not_at_other_numbers",)


@dataclass(frozen=True, slots=True)
class Signature:
    """The `kind` of claim that fails (None: the case as a whole), `how` (kinds of facts or errors, an op), of whom;
    for a claim of the file also which one it is."""

    kind: ClaimKind | None
    how: tuple[str, ...]
    engine: str = ""
    tensor: str = ""
    formula: str = ""

    @property
    def is_claim(self) -> bool:
        """Whether it is the file's own statement that fails, and not an engine."""
        return self.kind is not None and self.kind.is_of_file


def signature_of(result: CaseResult) -> Signature | None:
    """None for a case that does not fail, or in no way that could be tried again."""
    if result.status not in ("failed", "crashed"):
        return None
    if result.errors:
        return _of_error(result.errors[0])
    lead = lead_of(result)
    if lead is None:
        return None
    if lead.what.is_of_file:
        return Signature(lead.what, _how(lead), lead.engine, lead.tensor, lead.formula)
    return Signature(lead.what, _how(lead), lead.engine)


def _of_error(failure: Failure) -> Signature | None:
    if failure.kind in _HOPELESS:
        return None
    exception = (failure.message["error"],) if failure.kind == "crash" else ()
    return Signature(None, (failure.kind, *exception))


def lead_of(result: CaseResult) -> Comparison | None:
    """The failed comparison that says most, the case's own numbers before those of trials.

    Gradients of gradients are left out: a case file alone does not ask for them.
    """
    failed = [c for c in result.comparisons if c.status == "failed" and c.what is not ClaimKind.GRADIENT2]
    return min(failed, key=lambda c: (c.what.rank, c.what.is_of_file, c.trial is not None), default=None)


def _how(c: Comparison) -> tuple[str, ...]:
    """The op whose rule is wrong, or what kind of difference there is."""
    if c.operation is not None:
        return (c.operation.application.op.name,)
    if c.mismatch is None or c.mismatch.kind in _WHEREABOUTS:
        return ("numbers",)
    return tuple(_kinds(c.mismatch))


def _kinds(found: Fact) -> Iterator[str]:
    """The kinds of a fact and of those in it, and the kinds of errors that these speak of."""
    yield found.kind
    for name, value in found.data:
        if isinstance(value, Fact):
            yield from _kinds(value)
        elif name == "error" and found.kind in _OF_ERRORS:
            yield str(value)
