"""A progress bar on stderr: only on a terminal, and only in a long run."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from gradcheck.checks.result import CaseResult

if TYPE_CHECKING:
    import rich.progress

#: Seconds before the bar appears.
START_DELAY = 0.7


class Progress:
    """A progress bar on `terminal` (None for no bar) that leaves no trace."""

    def __init__(self, total: int, terminal: IO[str] | None, patience: float = START_DELAY) -> None:
        self._total, self._terminal = total, terminal
        self._done = self._failed = 0
        self._bar: rich.progress.Progress | None = None
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
            self._failed += case.is_failing
            self._draw()

    def _start(self) -> None:
        with self._lock:
            if self._terminal and not self._closed:
                self._bar = _bar(self._terminal)
                self._bar.add_task("", total=self._total, remark="")
                self._bar.start()
                self._draw()

    def _draw(self) -> None:
        if self._bar:
            remark = f"{self._failed} wrong" if self._failed else ""
            self._bar.update(self._bar.task_ids[0], completed=self._done, remark=remark)


def _bar(terminal: IO[str]) -> rich.progress.Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[remark]}"), TimeRemainingColumn())
    return Progress(TextColumn("checking"), *columns, console=Console(file=terminal), transient=True)
