"""A bar on stderr while a run lasts: only on a terminal, and only once it has lasted a while."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import IO, Self

from gradcheck.checks.result import CaseResult
from gradcheck.reports.findings import BAD

#: Seconds that a run may last in silence.
PATIENCE = 0.7


class Progress:
    """A context manager; `advance` with every case that is done. It leaves nothing behind on the screen.

    `terminal` is where the bar is drawn; None for no bar.
    """

    def __init__(self, total: int, terminal: IO[str] | None, patience: float = PATIENCE) -> None:
        self._total, self._terminal = total, terminal
        self._done = self._failed = 0
        self._bar: _Bar | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._timer = threading.Timer(patience, self._start) if terminal else None

    def __enter__(self) -> Self:
        if self._timer:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._closed = True
            if self._timer:
                self._timer.cancel()
            if self._bar:
                self._bar.stop()

    def advance(self, case: CaseResult) -> None:
        """Count a case that is done."""
        with self._lock:
            self._done += 1
            self._failed += case.status in BAD
            if self._bar:
                self._bar.update(self._done, self._failed)

    def _start(self) -> None:
        with self._lock:
            if self._terminal and not self._closed:
                self._bar = _Bar(self._total, self._terminal)
                self._bar.update(self._done, self._failed)


class _Bar:
    """rich's bar, imported when it is first wanted."""

    def __init__(self, total: int, terminal: IO[str]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("checking"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[remark]}"),
            TimeRemainingColumn(),
            console=Console(file=terminal),
            transient=True,
        )
        self._task = self._progress.add_task("", total=total, remark="")
        self._progress.start()

    def update(self, done: int, failed: int) -> None:
        self._progress.update(self._task, completed=done, remark=f"{failed} wrong" if failed else "")

    def stop(self) -> None:
        self._progress.stop()
