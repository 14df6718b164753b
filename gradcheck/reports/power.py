"""What planted faults showed, in words: caught of planted, the smallest error that is seen, and what survived."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.reports.text import brief, count, plain

#: How many faults that nothing caught are listed; -v shows all.
LISTED = 3


def power_lines(case: CaseResult, everything: bool = False) -> list[str]:
    """A line for a case whose power was measured, and one for each fault that nothing caught."""
    if case.power is None:
        return []
    power = case.power
    if power["vacuous"]:
        return ["power: vacuous: no fault that can be planted here would be noticed"]
    lines = [f"power: {power['caught']} of {count(power['planted'], 'planted fault')} caught{_smallest(power)}"]
    survivors = power["survivors"]
    listed = survivors if everything else survivors[:LISTED]
    lines += [f"  not caught: {one['kind']}, in {plain(one['where'])}" for one in listed]
    if len(survivors) > len(listed):
        lines.append(f"  and {len(survivors) - len(listed)} more; -v shows them all")
    return lines


def _smallest(power: Mapping[str, Any]) -> str:
    """`; errors seen from 2e-10 (x)` or, where tensors differ much, `to 3e-6 (y)` too."""
    smallest: dict[str, float] = dict(power["smallest"])
    if not smallest:
        return ""
    low, high = min(smallest, key=smallest.__getitem__), max(smallest, key=smallest.__getitem__)
    text = f"; relative errors seen from {brief(smallest[low])}"
    if smallest[high] <= 2 * smallest[low]:
        return text
    return f"{text} ({plain(low)}), {brief(smallest[high])} ({plain(high)})"


def power_summary(result: RunResult) -> str:
    """A line for the run, empty where nothing was planted."""
    measured = [case.power for case in result.cases if case.power is not None]
    if not measured:
        return ""
    planted, caught = (sum(power[key] for power in measured) for key in ("planted", "caught"))
    share = f" ({100 * caught / planted:.1f} %)" if planted else ""
    vacuous = sum(power["vacuous"] for power in measured)
    rest = f"; {count(vacuous, 'case')} vacuous" if vacuous else ""
    return f"power: {caught} of {count(planted, 'planted fault')} caught{share}{rest}"
