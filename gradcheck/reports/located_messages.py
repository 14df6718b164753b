"""The problems of a case, and remarks on it, each a place and one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from gradcheck.checks.result import CaseResult, Comparison, Failure, RunResult
from gradcheck.errors import Hint, Place
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.causes import findings, place_in_case
from gradcheck.reports.phrases import say
from gradcheck.reports.phrases.comparison_text import error_line, log_line, status_reason, subject
from gradcheck.reports.safe_text import format_place, plain
from gradcheck.reports.source_lines import (
    has_text_at,
    is_outside_repository,
    location_of_claim,
    path_in_repository,
    relative_to_cwd,
    suggested_edit,
)

INFINITE = float("inf")


@dataclass(frozen=True, slots=True)
class LocatedMessage:
    """One line for people.

    `relative_error` is infinite if nothing could be compared. `length` counts the characters meant at the place, 0 if
    unknown; `replacement` is what to write instead. `rule` is the kind of problem in a word; with `subject` it
    identifies the problem after its numbers have changed.
    """

    place: Place
    message: str
    relative_error: float = 0.0
    length: int = 0
    rule: str = "remark"
    subject: str = ""
    replacement: str | None = None

    @property
    def location(self) -> str:
        """`file:line:column`, as far as it is known."""
        return format_place(self.place)


def failure_messages(case: CaseResult) -> list[LocatedMessage]:
    """Return the problems of a case, the clearest first; none if it passed."""
    if not case.is_failing:
        return []
    if case.known is not None:
        return [LocatedMessage(place_in_case(case, case.place), status_reason(case), rule=case.status)]
    found = [_error_message(case, error) for error in case.errors]
    found += [_claim_message(case, finding.lead) for finding in findings(case)]
    if case.status == "xpassed" or not found:
        found.append(LocatedMessage(place_in_case(case, case.place), status_reason(case), rule=case.status))
    return found


def _error_message(case: CaseResult, error: Failure) -> LocatedMessage:
    place = place_in_case(case, error.place)
    found = LocatedMessage(place, error_line(error), INFINITE, rule=error.kind, subject=say(error.message))
    if not isinstance(error.hint, Hint) or not error.hint.old:
        return found
    where = error.hint.place or place
    if where.line != place.line or not has_text_at(where, error.hint.old):
        return found
    return replace(found, place=where, length=len(error.hint.old), replacement=error.hint.new)


def _claim_message(case: CaseResult, lead: Comparison) -> LocatedMessage:
    size = INFINITE if lead.max_rel is None else lead.max_rel
    where = location_of_claim(lead)
    at = place_in_case(case, where.place)
    edit = suggested_edit(lead)
    if lead.code is not None and not is_outside_repository(path_in_repository(lead.code.file)):
        message = f"{log_line(lead)} (case: {format_place(at)})"
        about = f"{lead.tensor} {lead.step}"
        return LocatedMessage(relative_to_cwd(lead.code), message, size, 0, str(lead.what), about)
    exact = edit is not None and where.length == edit[1].end - edit[1].start and where.start + 1 == where.place.column
    return LocatedMessage(
        at, log_line(lead), size, where.length, str(lead.what),
        f"{lead.tensor} {lead.step}",
        edit[1].text if edit is not None and exact else None,
    )  # fmt: skip


class Fingerprints:
    """Identifiers of problems that stay the same from run to run."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def of(self, case: CaseResult, problem: LocatedMessage) -> str:
        """Return an identifier; equal problems get different ones."""
        about = "\0".join((case.id, problem.rule, problem.subject))
        self._seen[about] += 1
        return sha256(f"{about}\0{self._seen[about]}".encode("utf-8", "backslashreplace")).hexdigest()


#: Notes on the conditions of a claim, which are always reported.
_CONDITIONS = ("undefined_at", "check_undefined", "needs_sizes")


def remark_messages(case: CaseResult) -> list[LocatedMessage]:
    """Return the remarks on a case, whether it passes or not.

    They say where the reference is wrong (each tensor once), on which condition formulas hold, where code raises, what
    libraries warned of, what has drifted, and what could not be explained.
    """
    told: dict[object, LocatedMessage] = {}

    def note_once(key: object, place: Place, text: str, rule: str = "remark", subject: str = "") -> None:
        told.setdefault(key, LocatedMessage(place_in_case(case, place), text, rule=rule, subject=subject))

    for c in sorted(case.comparisons, key=lambda c: (c.what is ClaimKind.NODE, c.trial is not None)):
        if c.passes_by_wrong_reference and not (c.what is ClaimKind.NODE and told):
            note_once((c.tensor, c.step), c.place, f"{subject(c)}: {plain(say(c.verdict))}")
    for c in case.comparisons:
        for note in c.notes if c.status == "passed" and c.what.is_general else ():
            if note.kind in _CONDITIONS:
                about = "" if note.kind == "needs_sizes" else f"{subject(c)}: "
                note_once((about, note), c.place, f"{about}{plain(say(note))}")
    for c in case.comparisons:
        for note in c.notes if c.status == "passed" else ():
            if note.kind == "narrower_domain":
                note_once(note, c.place, f"{c.engine}: {plain(say(note))}")
            elif note.kind in ("nonfinite_gradient", "nan_value"):
                note_once(note, c.place, f"{subject(c)}: {plain(say(note))}")
    for warning in case.warnings:
        note_once(warning, case.place, plain(say(warning)))
    for drift in case.drift:
        note_once(drift, case.place, plain(say(drift)), rule="drift", subject=drift["claim"])
    lost = (LocatedMessage(place_in_case(case, error.place), error_line(error)) for error in case.incomplete)
    return [*told.values(), *lost]


def located_messages(result: RunResult) -> Iterator[tuple[CaseResult, LocatedMessage, bool]]:
    """Yield every failure and remark of a run; True marks failures."""
    for case in result.cases:
        yield from ((case, problem, True) for problem in failure_messages(case))
        yield from ((case, remark, False) for remark in remark_messages(case))
