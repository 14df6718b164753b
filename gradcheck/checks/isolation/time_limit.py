"""The time limit of a case, and the date of an `xfail`.

This is the only clock that decides anything, and only with `--timeout` or an engine that may never return (its
`timeout`, in seconds). A case over its limit is out of time, never wrong or right. There is one timer a process, and
its state is here.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from types import FrameType

from gradcheck import forks
from gradcheck.engines.base import Engine, time_limit

#: Seconds between two interruptions of a case that is out of time.
REPEAT_SECONDS = 0.5
#: The most interruptions that code may swallow, where its process may be ended instead.
_MOST_SWALLOWED = 10
#: The shortest setting of a timer.
_SOON = 1e-6
_HAS_TIMER = hasattr(signal, "setitimer")

#: Seconds of this process that counted towards no limit.
_uncounted_seconds = 0.0
#: In a worker: reports to the parent process whether time counts.
report_counting: Callable[[bool], object] | None = None


def today() -> str:
    """Return the date (ISO 8601, UTC) that `xfail` compares."""
    return time.strftime("%Y-%m-%d", time.gmtime())


class OutOfTime(BaseException):
    """Raised inside a case at its limit; not an Exception, to pass handlers."""

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__()
        self.seconds = seconds


#: Seconds for a case whose own code may never return.
CODE_SECONDS = 120.0


def case_time_limit(requested: float | None, engines: Sequence[Engine], has_code: bool = False) -> float | None:
    """Return a case's limit in seconds: the run's, the engines' or code's."""
    if requested is not None:
        return requested
    return max([CODE_SECONDS if has_code else 0.0, *map(time_limit, engines)]) or None


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTime if the block takes longer than `seconds`.

    In the main thread of a POSIX system a timer interrupts the block, but not a call into NumPy or torch
    (`worker_processes` ends even those). Elsewhere the block ends first and then counts as out of time. Deadlines may
    be nested."""
    if seconds is None:
        yield
        return
    start = _clock()
    if not _can_use_timer():
        yield
        if _clock() - start > seconds:
            raise OutOfTime(seconds)
        return

    rings = count()

    def ring(number: int, frame: FrameType | None) -> None:
        if next(rings) >= _MOST_SWALLOWED and forks.give_up is not None:
            forks.give_up()
        raise OutOfTime(seconds)

    handler = signal.signal(signal.SIGALRM, ring)
    # repeatedly, since an `except:` of user code may swallow the first
    left, _ = signal.setitimer(signal.ITIMER_REAL, max(seconds, _SOON), REPEAT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (_clock() - start), _SOON), REPEAT_SECONDS)


@contextmanager
def pause_time_limit() -> Iterator[None]:
    """Exclude the block from a case's time; it loads a library late."""
    global _uncounted_seconds
    start = time.perf_counter()
    rings = _can_use_timer()
    left = signal.setitimer(signal.ITIMER_REAL, 0.0)[0] if rings else 0.0
    if report_counting is not None:
        report_counting(False)
    try:
        yield
    finally:
        _uncounted_seconds += time.perf_counter() - start
        if report_counting is not None:
            report_counting(True)
        if left:
            signal.setitimer(signal.ITIMER_REAL, left, REPEAT_SECONDS)


def _clock() -> float:
    return time.perf_counter() - _uncounted_seconds


def _can_use_timer() -> bool:
    return _HAS_TIMER and threading.current_thread() is threading.main_thread()
