"""Are the shipped cases worth running? Faults are planted in all of them, and all must be caught."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import Row
from gradcheck import run
from gradcheck.reports.summary import mutation_score_lines

CASES = Path(__file__).parents[1] / "cases"


def rows() -> Iterator[Row]:
    start = time.perf_counter()
    plain = run(CASES, allow_code=True)
    without = time.perf_counter() - start
    result = run(CASES, power=True, allow_code=True)
    measured = [(case, case.power) for case in result.cases if case.power is not None]
    for case, power in measured:
        if power.survivors or power.is_vacuous:
            print("\n".join([case.id, *mutation_score_lines(case, everything=True)]), file=sys.stderr)
    planted = sum(len(power.mutants) for _, power in measured)
    caught = sum(power.caught for _, power in measured)
    vacuous = [case.name for case, power in measured if power.is_vacuous]
    details = f"{len(measured)} of {len(plain.cases)} cases leave gradients; vacuous: {', '.join(vacuous) or 'none'}; "
    details += f"{result.seconds:.0f} s, without `--power` {without:.0f} s"
    yield Row("planted faults caught in `cases/`", f"{caught:,} of {planted:,}", "all", caught == planted, details)
