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
    "gradient2": 4,
    "formula": 4,
    "wrong_formula": 5,
    "check": 6,
}
#: Claims that are about the same thing, so that they are told together.
_SUBJECT = {"expected_value": "value", "expected": "gradient"}


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
    causes = {_known_as(c): c for c in case.comparisons if c.cause and c.status in UNSETTLED}
    groups: dict[tuple[object, ...], list[Comparison]] = {}
    behind: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in case.comparisons:
        if comparison.status not in UNSETTLED or (case.errors and _is_told(comparison)):
            continue
        known_as = comparison.engine, comparison.consequence_of
        if known_as in causes and not comparison.cause:
            behind.setdefault(known_as, []).append(comparison)
        else:
            groups.setdefault(_subject(comparison), []).append(comparison)
    positions = {key: index for index, key in enumerate(groups)}

    def rank(key: tuple[object, ...]) -> tuple[int, bool, int, int]:
        lead = groups[key][0]
        order = _ORDER[lead.what]
        caused = order > 1 and any(c.cause for c in groups[key])
        return 2 if caused else order, not caused, lead.step, -positions[key] if order == 3 else positions[key]

    return [_finding(groups[key], behind) for key in sorted(groups, key=rank)]


def _is_told(comparison: Comparison) -> bool:
    """Whether the errors of the case say it: that a step raised what it should not have, or did not raise."""
    return comparison.what == "raises" and comparison.reference == "case"


def _known_as(cause: Comparison) -> tuple[str, str]:
    """The engine, and what its consequences call the cause: the words before the colon."""
    return cause.engine, cause.cause.partition(":")[0]


def _subject(comparison: Comparison) -> tuple[object, ...]:
    what = _SUBJECT.get(comparison.what, comparison.what)
    if what in ("value", "gradient"):
        return what, comparison.tensor, comparison.step
    return what, comparison.tensor, comparison.step, comparison.formula, comparison.engine


def _finding(group: list[Comparison], behind: dict[tuple[str, str], list[Comparison]]) -> Finding:
    first, *others = sorted(_folded(group), key=lambda c: (not c.cause, c.what in _SUBJECT, c.trial is not None))
    known = dict.fromkeys(_known_as(c) for c in group if c.cause)
    return Finding(first, tuple(others), tuple(c for key in known for c in behind.get(key, ())))


def _folded(group: list[Comparison]) -> list[Comparison]:
    """One for all engines that fail alike at the case's own numbers, as when two disagree with the file."""
    alike: dict[tuple[object, ...], list[Comparison]] = {}
    for index, c in enumerate(group):
        key = (c.what, c.reference, c.message, c.mismatched, index if c.trial is not None else None)
        alike.setdefault(key, []).append(c)
    return [replace(same[0], engine=" and ".join(dict.fromkeys(c.engine for c in same))) for same in alike.values()]
