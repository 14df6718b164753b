"""What mutants showed: caught of planted, the smallest error that is seen, and what survived; in words and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradcheck.checks.power import Power
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.reports.phrases import say
from gradcheck.reports.text import brief, count, plain

#: How many mutants that nothing caught are listed; -v shows all.
LISTED = 3


def power_lines(case: CaseResult, everything: bool = False) -> list[str]:
    """A line for a case whose power was measured, and one for each mutant that nothing caught."""
    power = case.power
    if power is None:
        return []
    if power.is_vacuous:
        return ["power: vacuous: no fault that can be planted here would be noticed"]
    planted = count(len(power.mutants), "planted fault")
    lines = [f"power: {power.caught} of {planted} caught{_smallest(power.smallest)}"]
    listed = power.survivors if everything else power.survivors[:LISTED]
    lines += [f"  not caught: {say(one.kind)}, in {plain(say(one.where))}" for one in listed]
    if len(power.survivors) > len(listed):
        lines.append(f"  and {len(power.survivors) - len(listed)} more; -v shows them all")
    return lines


def _smallest(smallest: Mapping[str, float]) -> str:
    """`; errors seen from 2e-10 (x)` or, where tensors differ much, `to 3e-6 (y)` too."""
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
    planted, caught = sum(len(power.mutants) for power in measured), sum(power.caught for power in measured)
    share = f" ({100 * caught / planted:.1f} %)" if planted else ""
    vacuous = sum(power.is_vacuous for power in measured)
    rest = f"; {count(vacuous, 'case')} vacuous" if vacuous else ""
    return f"power: {caught} of {count(planted, 'planted fault')} caught{share}{rest}"


def power_json(power: Power) -> dict[str, Any]:
    """As it stands in the JSON report."""
    return {
        "planted": len(power.mutants),
        "caught": power.caught,
        "equivalent": power.equivalent,
        "vacuous": power.is_vacuous,
        "smallest": dict(power.smallest),
        "survivors": [{"kind": say(one.kind), "where": say(one.where)} for one in power.survivors],
    }
