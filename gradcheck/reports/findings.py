"""The problems of a case, grouped and ordered. Facts, no words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gradcheck.checks.result import PROBLEM_STATUSES, CaseResult, Comparison
from gradcheck.errors import Place
from gradcheck.facts import Fact
from gradcheck.language.claim_kind import ClaimKind

#: Between the names of engines that fail alike.
ENGINE_SEPARATOR = " and "

#: An engine, and its first fault.
Origin = tuple[str, Fact]


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem: its clearest comparison, agreeing ones, and consequences."""

    lead: Comparison
    others: tuple[Comparison, ...] = ()
    consequences: tuple[Comparison, ...] = ()

    @property
    def explains_error(self) -> bool:
        """True if it explains an error that an engine raised."""
        return any(c.what is ClaimKind.RAISES for c in (self.lead, *self.others, *self.consequences))


def worst_first(cases: Iterable[CaseResult]) -> list[CaseResult]:
    """Return cases that make a run fail: crashed, invalid, failed, xpassed."""
    bad = (case for case in cases if case.is_failing)
    return sorted(bad, key=lambda case: PROBLEM_STATUSES.index(case.status))


def findings(case: CaseResult) -> list[Finding]:
    """Return failed and undecided comparisons, grouped by subject.

    Values come in the order of the graph, gradients in reverse, as a backward pass flows. Causes come before other
    gradients, and take their consequences with them. Of code, gradients whose mistake is known come first.
    """
    unsettled = [c for c in case.comparisons if c.is_failing and not (case.errors and _is_case_error(c))]
    origins = {(c.engine, c.cause.origin) for c in case.comparisons if c.cause and c.is_failing}
    groups: dict[tuple[object, ...], list[Comparison]] = {}
    behind: dict[Origin, list[Comparison]] = {}
    for c in unsettled:
        origin = (c.engine, c.consequence_of) if c.consequence_of else None
        if origin in origins and not c.cause:
            behind.setdefault(origin, []).append(c)
        else:
            groups.setdefault(_group_key(c), []).append(c)
    positions = {key: index for index, key in enumerate(groups)}

    def place(key: tuple[object, ...]) -> tuple[int, bool, int, bool, int]:
        lead = groups[key][0]
        kind = lead.what.subject
        caused = kind.rank >= ClaimKind.NODE.rank and any(c.cause for c in groups[key])
        rank = ClaimKind.NODE.rank if caused else kind.rank
        position = -positions[key] if kind is ClaimKind.GRADIENT else positions[key]
        is_unknown = lead.code is not None and not any(one.confidence for c in groups[key] for one in c.diagnoses)
        return rank, not caused, lead.step, is_unknown, position

    return [_make_finding(groups[key], behind) for key in sorted(groups, key=place)]


def _is_case_error(comparison: Comparison) -> bool:
    """Return whether the errors of the case already report it."""
    return comparison.what is ClaimKind.RAISES and comparison.reference == "case"


def _group_key(c: Comparison) -> tuple[object, ...]:
    kind = c.what.subject
    if kind in (ClaimKind.VALUE, ClaimKind.GRADIENT):
        return kind, c.tensor, c.step
    op = c.operation.application.op.name if c.operation is not None else ""
    return kind, c.tensor, c.step, c.formula, c.engine, op


def _make_finding(group: list[Comparison], behind: dict[Origin, list[Comparison]]) -> Finding:
    first, *others = sorted(
        _merge_engines(group), key=lambda c: (not c.cause, c.what is not c.what.subject, c.trial is not None)
    )
    origins = dict.fromkeys((c.engine, c.cause.origin) for c in group if c.cause)
    return Finding(first, tuple(others), tuple(c for origin in origins for c in behind.get(origin, ())))


def _merge_engines(group: list[Comparison]) -> list[Comparison]:
    alike: dict[tuple[object, ...], list[Comparison]] = {}
    for index, c in enumerate(group):
        key = (c.what, c.reference, c.mismatch, c.mismatched, index if c.trial is not None else None)
        alike.setdefault(key, []).append(c)
    names = (dict.fromkeys(c.engine for c in same) for same in alike.values())
    return [
        same[0].with_subject(engine=ENGINE_SEPARATOR.join(n)) for same, n in zip(alike.values(), names, strict=True)
    ]


def place_in_case(case: CaseResult, place: Place) -> Place:
    """Return the place, or the case's own if it has no line."""
    chosen = place if place.line else case.place
    return Place(chosen.file or place.file or case.file, chosen.line, chosen.column)
