"""One case on its own: whatever happens to it, it has a result, and costs itself alone. Prints nothing."""

from __future__ import annotations

import gc
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

from gradcheck.checks.options import Engines, Options
from gradcheck.checks.pipeline import check_case, result
from gradcheck.checks.result import CaseResult, CaseStatus, Failure
from gradcheck.checks.warned import listening
from gradcheck.engines.base import Engine
from gradcheck.errors import InvalidCase
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case

#: Seconds between one interruption of a case that is out of time and the next.
AGAIN = 1.0
#: Adds something to the result of a case.
Further = Callable[[CaseResult, Case, Options, Engines], CaseResult]


def check_one(case: Case, options: Options, engines: Engines, further: Sequence[Further] = ()) -> CaseResult:
    """The result of one case, whatever happens; a KeyboardInterrupt alone passes through. `further` adds to it what is
    told of a case beyond its verdict. What libraries warn of meanwhile is part of it."""
    with listening() as warned:
        found = _checked(case, options, engines, further)
    return replace(found, warnings=tuple(warned)) if warned else found


def _checked(case: Case, options: Options, engines: Engines, further: Sequence[Further]) -> CaseResult:
    start = time.perf_counter()
    limit = limit_of(options.timeout, engines.tested)
    status: CaseStatus = "crashed"
    try:
        with deadline(limit):
            found = check_case(case, options, engines)
            for add in further:
                found = add(found, case, options, engines)
            return _with_output(found, engines)
    except InvalidCase as error:
        status, failure = "invalid", _failure(error)
    except OutOfTime:
        failure = Failure("timeout", fact("ran_out_of_time", seconds=limit), case.place)
    except MemoryError as error:
        gc.collect()
        failure = Failure("memory", fact("ran_out_of_memory", text=str(error)), case.place)
    except Exception as error:
        details = "".join(traceback.format_exception(error, limit=-20))  # for whoever mends it
        hint = "this is a bug in an engine or in gradcheck"
        failure = Failure("crash", crash_of(error), case.place, hint, details)
    found = result(case, options, status, errors=(failure,), seconds=time.perf_counter() - start)
    return _with_output(found, engines)


def _with_output(found: CaseResult, engines: Engines) -> CaseResult:
    """The same with what engines have printed, where there are any that are listened to."""
    printed = {engine.name: engine.output.take() for engine in engines.tested if hasattr(engine, "output")}
    printed = {name: text for name, text in printed.items() if text.strip()}
    return replace(found, output=printed) if printed else found


def crash_of(error: Exception) -> Fact:
    """An exception that nobody expected: its type, and the first line of what it says."""
    lines = str(error).strip().splitlines()
    return fact("crashed", error=type(error).__name__, text=lines[0] if lines else "")


def _failure(error: InvalidCase) -> Failure:
    return Failure(error.kind, fact("said", text=error.message), error.place, error.hint)


def unreadable(errors: Sequence[InvalidCase]) -> CaseResult:
    """The result of a file that could not be read, or not all of it."""
    place = errors[0].place
    failures = tuple(_failure(error) for error in errors)
    return CaseResult(id=place.file, file=place.file, name="", status="invalid", place=place, errors=failures)


# The time limit ----------------------------------------------------------------------------------------
#
# It is the only clock that decides anything, and only where `--timeout` or an engine that may never return (its
# `timeout`, in seconds) has set it. A case that runs into it is reported as out of time, never as wrong or right.

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
    """Raise OutOfTime when the block takes longer than `seconds`; None sets no limit.

    In the main thread of a POSIX system a timer interrupts the block, though never in the middle of one call into NumPy
    or torch. Elsewhere it runs to its end, and then counts as out of time if it took too long.
    """
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
