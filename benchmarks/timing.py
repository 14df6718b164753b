"""Side-by-side timing: contestants take turns in one process, so that a machine's drift hits them alike."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Seconds of every round, by contestant."""

    seconds: Mapping[str, list[float]]

    def median(self, name: str) -> float:
        return statistics.median(self.seconds[name])

    def ratio(self, name: str, other: str) -> float:
        """The median over rounds of `name`'s time divided by `other`'s in the same round."""
        return statistics.median(a / b for a, b in zip(self.seconds[name], self.seconds[other], strict=True))


def cpu_of_processes() -> float:
    """Seconds of processor time, all finished child processes together: what a busy machine distorts least."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def race(
    contestants: Mapping[str, Callable[[], object]],
    rounds: int = 9,
    clock: Callable[[], float] = time.perf_counter,
) -> Timing:
    """Run every contestant once a round, in rotating order, after one round that does not count."""
    names = list(contestants)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds + 1):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            start = clock()
            contestants[name]()
            if number:
                seconds[name].append(clock() - start)
    return Timing(seconds)


@dataclass(frozen=True)
class Row:
    """What was measured, and the promise about it; `promised` is empty for what is others' to promise."""

    what: str
    measured: str
    promised: str
    kept: bool
    details: str

    def __str__(self) -> str:
        verdict = "" if not self.promised else "yes" if self.kept else "**no**"
        return f"| {self.what} | {self.measured} | {self.promised} | {verdict} | {self.details} |"
