"""Everything that is wrong with a case as places and messages of one line, for the reports that are lists of these."""

from __future__ import annotations

from dataclasses import dataclass

from gradcheck.checks.result import CaseResult
from gradcheck.errors import Place
from gradcheck.reports.grouping import findings
from gradcheck.reports.phrases.comparisons import error_line, one_line, verdict
from gradcheck.reports.text import plain

#: The statuses of a case that make a run fail, the worst first.
BAD = ("crashed", "invalid", "failed", "xpassed")
INFINITE = float("inf")


@dataclass(frozen=True, slots=True)
class Problem:
    """One line for people. `size` is the relative error; infinite where nothing could be compared."""

    file: str
    line: int
    column: int
    message: str
    size: float = 0.0

    @property
    def location(self) -> str:
        """`file:line:column`, as far as it is known."""
        return plain(":".join([self.file, *(str(number) for number in (self.line, self.column) if number)]))


def problems(case: CaseResult) -> list[Problem]:
    """The problems of a case, the most telling first; none of a case that did what it says."""
    if case.status not in BAD:
        return []
    found = [_problem(case, error.place, error_line(error), INFINITE) for error in case.errors]
    for finding in findings(case):
        size = finding.lead.max_rel
        found.append(_problem(case, finding.lead.place, one_line(finding.lead), INFINITE if size is None else size))
    if case.status == "xpassed" or not found:
        found.append(_problem(case, case.place, verdict(case)))
    return found


def _problem(case: CaseResult, place: Place, message: str, size: float = 0.0) -> Problem:
    where = locate(case, place)
    return Problem(where.file, where.line, where.column, message, size)


def locate(case: CaseResult, place: Place) -> Place:
    """The place, or the case's own where it has none."""
    chosen = place if place.line else case.place
    return Place(chosen.file or place.file or case.file, chosen.line, chosen.column)
