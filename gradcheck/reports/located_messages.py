"""What is wrong with a case, and what is to be told of it besides, as a list of places and messages of one line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256

from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.result import CaseResult, Comparison, Failure
from gradcheck.errors import Hint, Place
from gradcheck.reports.findings import BAD, findings, locate
from gradcheck.reports.phrases import say
from gradcheck.reports.phrases.comparison_text import error_line, one_line, subject, verdict
from gradcheck.reports.source_lines import spot, stands_at, suggested
from gradcheck.reports.safe_text import at, plain

INFINITE = float("inf")


@dataclass(frozen=True, slots=True)
class Problem:
    """One line for people. `size` is the relative error, infinite where nothing could be compared; `length` how many
    characters are meant at the place, 0 where that is not known, and `replacement` what to write instead of them. What
    kind of problem it is says `rule`, in a word; with the `subject` it is known again when its numbers have changed."""

    place: Place
    message: str
    size: float = 0.0
    length: int = 0
    rule: str = "remark"
    subject: str = ""
    replacement: str | None = None

    @property
    def location(self) -> str:
        """`file:line:column`, as far as it is known."""
        return at(self.place)


def problems(case: CaseResult) -> list[Problem]:
    """The problems of a case, the most telling first; none of a case that did what it says."""
    if case.status not in BAD:
        return []
    if case.known is not None:
        return [Problem(locate(case, case.place), verdict(case), rule=case.status)]
    found = [_of_error(case, error) for error in case.errors]
    found += [_of_claim(case, finding.lead) for finding in findings(case)]
    if case.status == "xpassed" or not found:
        found.append(Problem(locate(case, case.place), verdict(case), rule=case.status))
    return found


def _of_error(case: CaseResult, error: Failure) -> Problem:
    place = locate(case, error.place)
    found = Problem(place, error_line(error), INFINITE, rule=error.kind, subject=say(error.message))
    if not isinstance(error.hint, Hint) or not error.hint.old:
        return found
    where = error.hint.place or place
    if where.line != place.line or not stands_at(where, error.hint.old):
        return found
    return replace(found, place=where, length=len(error.hint.old), replacement=error.hint.new)


def _of_claim(case: CaseResult, lead: Comparison) -> Problem:
    size = INFINITE if lead.max_rel is None else lead.max_rel
    where = spot(lead)
    edit = suggested(lead)
    exact = edit is not None and where.length == edit[1].end - edit[1].start and where.start + 1 == where.place.column
    return Problem(
        locate(case, where.place), one_line(lead), size, where.length, str(lead.what), f"{lead.tensor} {lead.step}",
        edit[1].text if edit is not None and exact else None,
    )  # fmt: skip


class Fingerprints:
    """By which tools know a problem again from run to run: the same for the same, its place and numbers apart."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def of(self, case: CaseResult, problem: Problem) -> str:
        """One for each, though several be alike."""
        about = "\0".join((case.id, problem.rule, problem.subject))
        self._seen[about] += 1
        return sha256(f"{about}\0{self._seen[about]}".encode("utf-8", "backslashreplace")).hexdigest()


#: What a claim holds on condition of, which is always told.
_CONDITIONS = ("undefined_at", "check_undefined", "needs_sizes")


def remarks(case: CaseResult) -> list[Problem]:
    """What is always told of a case, whether it passes or not: where the reference is wrong, each tensor once, on
    what condition formulas hold, what libraries warned of, what has drifted, and what could not be found out."""
    told: dict[object, Problem] = {}
    for c in sorted(case.comparisons, key=lambda c: (c.what is ClaimKind.NODE, c.trial is not None)):
        if c.blames_reference and not (c.what is ClaimKind.NODE and told):
            text = f"{subject(c)}: {plain(say(c.verdict))}"
            told.setdefault((c.tensor, c.step), Problem(locate(case, c.place), text))
    for c in case.comparisons:
        for note in c.notes if c.status == "passed" and c.what.is_general else ():
            if note.kind in _CONDITIONS:
                about = "" if note.kind == "needs_sizes" else f"{subject(c)}: "
                told.setdefault((about, note), Problem(locate(case, c.place), f"{about}{plain(say(note))}"))
    for warning in case.warnings:
        told.setdefault(warning, Problem(locate(case, case.place), plain(say(warning))))
    for drift in case.drift:
        told.setdefault(
            drift, Problem(locate(case, case.place), plain(say(drift)), rule="drift", subject=drift["claim"])
        )
    lost = (Problem(locate(case, error.place), error_line(error)) for error in case.incomplete)
    return [*told.values(), *lost]
