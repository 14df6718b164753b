"""The time that a case may take, and how long before it is over.

It is the only clock that decides anything, and only where `--timeout` or an engine that may never return (its
`timeout`, in seconds) has set it; and the calendar, where a case says until when it may fail. A case that runs into a
limit is reported as out of time, never as wrong or right.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from gradcheck.engines.base import Engine, time_limit

#: Seconds between one interruption of a case that is out of time and the next.
REPEAT_SECONDS = 0.5
#: The least that a timer can be set to.
_SOON = 1e-6
_HAS_TIMER = hasattr(signal, "setitimer")

#: Seconds of this process that counted towards no limit.
_uncounted_seconds = 0.0
#: In a worker: tells whoever watches its time that it does not count, or that it does again.
report_counting: Callable[[bool], object] | None = None


def today() -> str:
    """The day, everywhere on earth the same, as in ISO 8601: until when a case may fail that says until when."""
    return time.strftime("%Y-%m-%d", time.gmtime())


class OutOfTime(BaseException):
    """Raised inside a case whose time is up. Not an Exception, so that nothing in between takes it for an answer."""

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__()
        self.seconds = seconds


#: Seconds for a case whose own code may never return.
CODE_SECONDS = 120.0


def case_time_limit(asked: float | None, engines: Sequence[Engine], has_code: bool = False) -> float | None:
    """Seconds for a case: what the run asks for, else what engines, or code, that may never return ask for; None for no
    limit."""
    if asked is not None:
        return asked
    return max([CODE_SECONDS if has_code else 0.0, *map(time_limit, engines)]) or None


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTime when the block takes longer than `seconds`; None sets no limit.

    In the main thread of a POSIX system a timer interrupts the block, though never in the middle of one call into NumPy
    or torch (`workers` ends even those). Elsewhere it runs to its end, and then counts as out of time if it took too
    long. One deadline may stand inside another, which then goes on from where it was.
    """
    if seconds is None:
        yield
        return
    start = _clock()
    if not _can_use_timer():
        yield
        if _clock() - start > seconds:
            raise OutOfTime(seconds)
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise OutOfTime(seconds)

    handler = signal.signal(signal.SIGALRM, ring)
    # Again and again, since somebody's `except:` may swallow the first.
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
    """Let the block take none of a case's time, nor be interrupted: it loads what might have been there before."""
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
    """Seconds that count."""
    return time.perf_counter() - _uncounted_seconds


def _can_use_timer() -> bool:
    return _HAS_TIMER and threading.current_thread() is threading.main_thread()
