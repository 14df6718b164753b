"""Trial after trial, for some seconds, and what they found, each finding once."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

from benchmarks.fuzz.trial import Finding, Trial, planned, tried
from benchmarks.timing import Row
from gradcheck.checks.isolation.fork_call import ForkedWorker
from gradcheck.checks.isolation.time_limit import OutOfTime
from gradcheck.checks.isolation.worker_processes import ProcessEnded, call_inherited

#: Where what was found is kept, to be looked at.
KEPT = Path(".gradcheck_cache") / "fuzz"
#: Seconds after which a trial, all of its commands together, is ended; a busy machine needs some.
PATIENCE = 300.0


def main(arguments: Sequence[str]) -> int:
    """Trials for so many seconds, or one alone; 1 where anything was found."""
    parser = argparse.ArgumentParser("python -m benchmarks fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, metavar="N", help="the number of the first trial")
    parser.add_argument("--only", type=int, metavar="N", help="this trial alone, here, with its text")
    given = parser.parse_args(arguments)
    if given.only is not None:
        return _alone(given.only, given.seed)
    session = Session(given.seed)
    for trial in session.trials(given.start, given.seconds):
        for found in trial.findings:
            if session.is_new(trial, found):
                print(f"{trial.number}: {found.kind}: {found.text}", flush=True)
    print(session.summary())
    return 1 if session.kinds else 0


def rows() -> Iterator[Row]:
    """A minute of it."""
    session = Session(0)
    for trial in session.trials(0, 60.0):
        for found in trial.findings:
            session.is_new(trial, found)
    measured = f"{len(session.kinds)} in {session.count:,} trials"
    yield Row("what a fuzzer finds in a minute", measured, "nothing", not session.kinds, session.summary())


def _alone(number: int, seed: int) -> int:
    trial = planned(number, seed)
    print(trial.data.decode("utf-8", "backslashreplace"), *trial.options)
    with tempfile.TemporaryDirectory() as folder:
        tried(trial, Path(folder))
    for found in trial.findings:
        print(f"{found.kind}: {found.text}")
    return 1 if trial.findings else 0


class Session:
    """Many trials, and what is known of them together."""

    def __init__(self, seed: int) -> None:
        self.seed, self.count = seed, 0
        self.kinds: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.slowest, self.memory = (0.0, 0), 0

    def trials(self, start: int, seconds: float) -> Iterator[Trial]:
        """From number `start` on, in a process that is ended where it does not end."""
        end = time.monotonic() + seconds
        with tempfile.TemporaryDirectory() as folder:

            def check(number: int) -> Trial:
                return tried(planned(number, self.seed), Path(folder))

            with ForkedWorker((check,)) as workers:
                while time.monotonic() < end:
                    trial = self._trial(workers.submit_within(PATIENCE, call_inherited, 0, start), start)
                    self._count(trial)
                    yield trial
                    start += 1

    def _trial(self, future: Future[Trial], number: int) -> Trial:
        """What came of it, if only that it came to nothing."""
        try:
            return future.result()
        except (OutOfTime, ProcessEnded) as error:
            trial = planned(number, self.seed)
            what = "hang" if isinstance(error, OutOfTime) else "end of the process"
            trial.findings.append(Finding(what, str(error) or f"{error.seconds:.0f} s"))
            return trial

    def _count(self, trial: Trial) -> None:
        self.count += 1
        self.statuses.update(trial.statuses or ("no report",))
        self.slowest = max(self.slowest, (trial.slowest, trial.number))
        self.memory = max(self.memory, trial.memory)

    def is_new(self, trial: Trial, found: Finding) -> bool:
        """Whether nothing alike was found before; then its text and options are kept."""
        self.kinds[found.key] += 1
        if self.kinds[found.key] > 1:
            return False
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / f"{self.seed}-{trial.number}.yaml").write_bytes(trial.data)
        text = f"gradcheck run {self.seed}-{trial.number}.yaml {' '.join(trial.options)}\n{found.kind}: {found.text}\n"
        with open(KEPT / f"{self.seed}-{trial.number}.txt", "a", encoding="utf-8") as file:
            file.write(text)
        return True

    def summary(self) -> str:
        """Figures, for a line."""
        statuses = ", ".join(f"{count:,} {status}" for status, count in self.statuses.most_common())
        slow, number = self.slowest
        return (
            f"{self.count:,} trials, {len(self.kinds)} findings; cases: {statuses}; the slowest command "
            f"{slow:.1f} s (trial {number}), at most {self.memory / 1e6:,.0f} MB, {os.cpu_count()} processors"
        )
