"""What is wrong with a case, and what is to be told of it besides, as a list of places and messages of one line."""

from __future__ import annotations

from dataclasses import dataclass

from gradcheck.checks.result import CaseResult, ClaimKind
from gradcheck.errors import Place
from gradcheck.reports.findings import BAD, findings, locate
from gradcheck.reports.phrases import say
from gradcheck.reports.phrases.comparisons import error_line, one_line, subject, verdict
from gradcheck.reports.source import spot
from gradcheck.reports.text import at, plain

INFINITE = float("inf")


@dataclass(frozen=True, slots=True)
class Problem:
    """One line for people. `size` is the relative error, infinite where nothing could be compared; `length` how many
    characters are meant at the place, 0 where that is not known."""

    place: Place
    message: str
    size: float = 0.0
    length: int = 0

    @property
    def location(self) -> str:
        """`file:line:column`, as far as it is known."""
        return at(self.place)


def problems(case: CaseResult) -> list[Problem]:
    """The problems of a case, the most telling first; none of a case that did what it says."""
    if case.status not in BAD:
        return []
    found = [Problem(locate(case, error.place), error_line(error), INFINITE) for error in case.errors]
    for lead in (finding.lead for finding in findings(case)):
        size = INFINITE if lead.max_rel is None else lead.max_rel
        where = spot(lead)
        found.append(Problem(locate(case, where.place), one_line(lead), size, where.length))
    if case.status == "xpassed" or not found:
        found.append(Problem(locate(case, case.place), verdict(case)))
    return found


#: What a claim holds on condition of, which is always told.
_CONDITIONS = ("undefined_at", "needs_sizes")


def remarks(case: CaseResult) -> list[Problem]:
    """What is always told of a case, whether it passes or not: where the reference is wrong, each tensor once, on
    what condition formulas hold, what libraries warned of, and what could not be found out."""
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
    lost = (Problem(locate(case, error.place), error_line(error)) for error in case.incomplete)
    return [*told.values(), *lost]
