"""Apply `xfail`, with which a case states that it must fail.

Such a failure counts as a success, unless another claim fails, a named claim passes, or the date is past.
"""

from __future__ import annotations

from dataclasses import replace

from gradcheck.checks.result import CaseResult, Comparison, Failure
from gradcheck.errors import Place
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case
from gradcheck.language.expr.nodes import Derivative


def apply_xfail(found: CaseResult, case: Case, today: str) -> CaseResult:
    """Return the result as `xfail` changes it; `today` is in ISO 8601."""
    expected = case.xfail
    if expected is None or found.status not in ("failed", "passed"):
        return found
    found = replace(found, reason=expected.reason)
    if found.status == "passed":
        return replace(found, status="xpassed")
    if expected.only:
        elsewhere, held = _unnamed_failures(found, case, expected.only), _holding_claims(found, case, expected.only)
        if elsewhere:
            return _with_error(found, case, "xfail.only", fact("fails_elsewhere", claims=elsewhere))
        if held:
            return replace(found, status="xpassed", known=fact("holds_again", claims=held))
    if expected.until and today > expected.until:
        return _with_error(
            found, case, "xfail.until", fact("past_its_date", until=expected.until, reason=expected.reason)
        )
    known = fact("fails_until", reason=expected.reason, until=expected.until) if expected.until else None
    return replace(found, status="xfailed", known=known)


def _unsettled(found: CaseResult) -> list[Comparison]:
    return [c for c in found.comparisons if c.is_failing]


def _holding_claims(found: CaseResult, case: Case, only: tuple[str, ...]) -> tuple[str, ...]:
    raised = {error.kind for error in found.errors}
    names = (name for name in only if name not in raised)
    return tuple(name for name in names if not any(_is_called(name, c, case) for c in _unsettled(found)))


def _unnamed_failures(found: CaseResult, case: Case, only: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of all failures that `only` does not list.

    If a step raises an unexpected error, the error counts, not the comparison beside it."""
    names = {_name(c): None for c in _unsettled(found) if not any(_is_called(name, c, case) for name in only)}
    if any(error.kind in only for error in found.errors):
        names = {name: None for name in names if not name.startswith("raises")}
    return (*names, *(error.kind for error in found.errors if error.kind not in only))


def _is_called(name: str, c: Comparison, case: Case) -> bool:
    tensors = Derivative(c.tensor).tensors if c.what.is_about_derivative else (c.tensor,)
    if name in (c.tensor, *tensors, *(tensor.partition("[")[0] for tensor in tensors)):
        return bool(name)
    is_tensor = name in case.graph or name in case.inputs or name in case.constants
    if name == " ".join(c.formula.split()) and not is_tensor:
        return True
    kind, _, tensor = name.partition(" of ")
    return kind.replace(" ", "_") in (c.what, c.what.subject) and tensor in ("", c.tensor, *tensors)


def _name(c: Comparison) -> str:
    kind = c.what.replace("_", " ")
    return f"{kind} of {c.tensor}" if c.tensor else c.formula or kind


def _with_error(found: CaseResult, case: Case, key: str, message: Fact) -> CaseResult:
    place = case.places.get(key) or case.places.get("xfail") or Place()
    return replace(found, errors=(*found.errors, Failure("xfail", message, place)))
