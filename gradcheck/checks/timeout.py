"""A time limit for one case: the only clock that decides anything, and only where somebody has set it.

It is set by a run's `--timeout`, or by an engine that may never return (`timeout` of an engine, in seconds). A case
that runs into it is reported as out of time, never as wrong or right. Everything else that is given up after some
effort counts work; the `seconds` in results are shown and read by nobody.

In the main thread of a POSIX system a timer interrupts the case, though never in the middle of one call into NumPy or
torch: it waits until that returns. Elsewhere a case cannot be interrupted; it runs to its end and then counts as out
of time if it took too long.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from gradcheck.engines.base import Engine

#: Seconds between one interruption and the next.
AGAIN = 1.0

_HAS_TIMER = hasattr(signal, "setitimer")


class OutOfTime(BaseException):
    """Raised inside a case whose time is up. Not an Exception, so that nothing in between takes it for an answer."""


def limit_of(asked: float | None, engines: Sequence[Engine]) -> float | None:
    """Seconds for a case: what the run asks for, else what engines that may never return ask for; None for no limit."""
    if asked is not None:
        return asked
    return max((getattr(engine, "timeout", 0.0) for engine in engines), default=0.0) or None


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTime when the block takes longer than `seconds`; None sets no limit."""
    if seconds is None:
        yield
        return
    start = time.perf_counter()
    if not _HAS_TIMER or threading.current_thread() is not threading.main_thread():
        yield
        if time.perf_counter() - start > seconds:
            raise OutOfTime
        return
    known = signal.signal(signal.SIGALRM, _ring)
    # Again and again, since somebody's `except:` may swallow the first.
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6), AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, known)


def _ring(number: int, frame: FrameType | None) -> None:
    raise OutOfTime
