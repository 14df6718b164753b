"""What is wrong with a case, the most telling first: grouped, consequences behind their cause; and as a list of places
and messages of one line."""

from __future__ import annotations

from dataclasses import dataclass

from gradcheck.checks.result import UNSETTLED, CaseResult, ClaimKind, Comparison
from gradcheck.errors import Place
from gradcheck.facts import Fact
from gradcheck.reports.phrases import say
from gradcheck.reports.phrases.comparisons import TOGETHER, error_line, one_line, subject, verdict
from gradcheck.reports.text import plain

#: The statuses of a case that make a run fail, the worst first.
BAD = ("crashed", "invalid", "failed", "xpassed")
INFINITE = float("inf")

#: An engine, and where something goes wrong in it first.
Origin = tuple[str, Fact]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: the comparison that says most about it, others that say it too, and what is wrong only
    because of it."""

    lead: Comparison
    others: tuple[Comparison, ...] = ()
    consequences: tuple[Comparison, ...] = ()


def findings(case: CaseResult) -> list[Finding]:
    """Comparisons that failed or could not be decided, grouped by what they are about.

    Values come in the order of the graph, gradients against it, as a backward pass flows. What was found to be a cause
    comes first of these; its consequences go with it.
    """
    unsettled = [c for c in case.comparisons if c.status in UNSETTLED and not (case.errors and _is_told(c))]
    origins = {(c.engine, c.cause.origin) for c in case.comparisons if c.cause and c.status in UNSETTLED}
    groups: dict[tuple[object, ...], list[Comparison]] = {}
    behind: dict[Origin, list[Comparison]] = {}
    for c in unsettled:
        origin = (c.engine, c.consequence_of) if c.consequence_of else None
        if origin in origins and not c.cause:
            behind.setdefault(origin, []).append(c)
        else:
            groups.setdefault(_subject(c), []).append(c)
    positions = {key: index for index, key in enumerate(groups)}

    def place(key: tuple[object, ...]) -> tuple[int, bool, int, int]:
        lead = groups[key][0]
        kind = lead.what.subject
        caused = kind.rank >= ClaimKind.NODE.rank and any(c.cause for c in groups[key])
        rank = ClaimKind.NODE.rank if caused else kind.rank
        position = -positions[key] if kind is ClaimKind.GRADIENT else positions[key]
        return rank, not caused, lead.step, position

    return [_finding(groups[key], behind) for key in sorted(groups, key=place)]


def _is_told(comparison: Comparison) -> bool:
    """Whether the errors of the case say it: that a step raised what it should not have, or did not raise."""
    return comparison.what is ClaimKind.RAISES and comparison.reference == "case"


def _subject(c: Comparison) -> tuple[object, ...]:
    """What the comparison is about: those that are about the same are told together."""
    kind = c.what.subject
    if kind in (ClaimKind.VALUE, ClaimKind.GRADIENT):
        return kind, c.tensor, c.step
    return kind, c.tensor, c.step, c.formula, c.engine


def _finding(group: list[Comparison], behind: dict[Origin, list[Comparison]]) -> Finding:
    first, *others = sorted(
        _folded(group), key=lambda c: (not c.cause, c.what is not c.what.subject, c.trial is not None)
    )
    origins = dict.fromkeys((c.engine, c.cause.origin) for c in group if c.cause)
    return Finding(first, tuple(others), tuple(c for origin in origins for c in behind.get(origin, ())))


def _folded(group: list[Comparison]) -> list[Comparison]:
    """One for all engines that fail alike at the case's own numbers, as when two disagree with the file."""
    alike: dict[tuple[object, ...], list[Comparison]] = {}
    for index, c in enumerate(group):
        key = (c.what, c.reference, c.mismatch, c.mismatched, index if c.trial is not None else None)
        alike.setdefault(key, []).append(c)
    return [same[0].about(engine=TOGETHER.join(dict.fromkeys(c.engine for c in same))) for same in alike.values()]


# In a line each ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Problem:
    """One line for people. `size` is the relative error; infinite where nothing could be compared."""

    place: Place
    message: str
    size: float = 0.0

    @property
    def location(self) -> str:
        """`file:line:column`, as far as it is known."""
        known = [str(number) for number in (self.place.line, self.place.column) if number]
        return plain(":".join([self.place.file, *known]))


def problems(case: CaseResult) -> list[Problem]:
    """The problems of a case, the most telling first; none of a case that did what it says."""
    if case.status not in BAD:
        return []
    found = [Problem(locate(case, error.place), error_line(error), INFINITE) for error in case.errors]
    for lead in (finding.lead for finding in findings(case)):
        size = INFINITE if lead.max_rel is None else lead.max_rel
        found.append(Problem(locate(case, lead.place), one_line(lead), size))
    if case.status == "xpassed" or not found:
        found.append(Problem(locate(case, case.place), verdict(case)))
    return found


#: What a claim holds on condition of, which is always told.
_CONDITIONS = ("undefined_at", "needs_sizes")


def remarks(case: CaseResult) -> list[Problem]:
    """What is always told of a case, whether it passes or not: where the reference is wrong, each tensor once, on what
    condition formulas hold, and what could not be found out."""
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
    lost = (Problem(locate(case, error.place), error_line(error)) for error in case.incomplete)
    return [*told.values(), *lost]


def locate(case: CaseResult, place: Place) -> Place:
    """The place, or the case's own where it has none."""
    chosen = place if place.line else case.place
    return Place(chosen.file or place.file or case.file, chosen.line, chosen.column)
