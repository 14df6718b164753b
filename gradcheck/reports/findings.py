"""Which failures of a case to show, and in what order: the most telling first, its consequences behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gradcheck.checks.result import CaseResult, Comparison

#: Statuses with which a case cannot pass.
UNSETTLED = ("failed", "undecided")
#: How early in the chain of causes each kind of claim stands: a wrong value spoils gradients, never the reverse.
_ORDER = {
    "raises": 0,
    "value": 1,
    "expected_value": 1,
    "node": 2,
    "gradient": 3,
    "expected": 3,
    "formula": 4,
    "wrong_formula": 5,
    "check": 6,
}
#: Claims that are about the same thing, so that they are told together.
_SUBJECT = {"expected_value": "value", "expected": "gradient"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: the comparison that says most about it, and others that say it too."""

    lead: Comparison
    others: tuple[Comparison, ...] = ()


def findings(case: CaseResult) -> list[Finding]:
    """Comparisons that failed or could not be decided, grouped by what they are about.

    Values come in the order of the graph, gradients against it, as a backward pass flows: so the first is the cause.
    """
    groups: dict[tuple[object, ...], list[Comparison]] = {}
    for comparison in case.comparisons:
        if comparison.status in UNSETTLED:
            groups.setdefault(_subject(comparison), []).append(comparison)
    positions = {key: index for index, key in enumerate(groups)}

    def rank(key: tuple[object, ...]) -> tuple[int, int, int]:
        lead = groups[key][0]
        order = _ORDER[lead.what]
        return order, lead.step, -positions[key] if order == 3 else positions[key]

    return [_finding(groups[key]) for key in sorted(groups, key=rank)]


def _subject(comparison: Comparison) -> tuple[object, ...]:
    what = _SUBJECT.get(comparison.what, comparison.what)
    if what in ("value", "gradient"):
        return what, comparison.tensor, comparison.step
    return what, comparison.tensor, comparison.step, comparison.formula, comparison.engine


def _finding(group: list[Comparison]) -> Finding:
    first, *others = sorted(_folded(group), key=lambda c: (c.what in _SUBJECT, c.trial is not None))
    return Finding(first, tuple(others))


def _folded(group: list[Comparison]) -> list[Comparison]:
    """One for all engines that fail alike at the case's own numbers, as when two disagree with the file."""
    alike: dict[tuple[object, ...], list[Comparison]] = {}
    for index, c in enumerate(group):
        key = (c.what, c.reference, c.message, c.mismatched, index if c.trial is not None else None)
        alike.setdefault(key, []).append(c)
    return [replace(same[0], engine=" and ".join(dict.fromkeys(c.engine for c in same))) for same in alike.values()]
