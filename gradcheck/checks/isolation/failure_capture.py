"""Turn unforeseen exceptions into failures, without losing a verdict."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace

from gradcheck.checks.isolation.time_limit import OutOfTime
from gradcheck.checks.result import Failure
from gradcheck.errors import Place, exception_text
from gradcheck.facts import Fact, fact
from gradcheck.forks import end_fork
from gradcheck.interrupts import Interrupt
from gradcheck.tracebacks import format_traceback

#: The frames kept of a traceback, from its end.
_FRAMES = 20


def try_part(part: str, look: Callable[[], object], lost: list[Failure]) -> bool:
    """Run a `part`; add its failure to `lost`. False if time is up."""
    try:
        look()
    except Interrupt:
        raise
    except BaseException as error:  # an engine's exit must not end this process
        found = failure_of(error)
        lost.append(replace(found, message=fact("not_found_out", part=part, why=found.message)))
        return not isinstance(error, OutOfTime)
    finally:
        end_fork()
    return True


def failure_of(error: BaseException, place: Place | None = None) -> Failure:
    """Return an unforeseen exception as a failure of a case."""
    at = place or Place()
    if isinstance(error, OutOfTime):
        return Failure("timeout", _out_of_time(error), at)
    if isinstance(error, MemoryError):
        gc.collect()
        return Failure("memory", fact("ran_out_of_memory", text=exception_text(error)), at)
    details = format_traceback(error, _FRAMES)  # for a bug report
    return Failure("crash", crash_of(error), at, "this is a bug in an engine or in gradcheck", details)


def _out_of_time(error: OutOfTime) -> Fact:
    for inside in getattr(error, "__notes__", ()):
        return fact("ran_out_of_time_inside", seconds=error.seconds, inside=inside)
    return fact("ran_out_of_time", seconds=error.seconds)


def crash_of(error: BaseException) -> Fact:
    """Return an unforeseen exception's type and first line."""
    lines = exception_text(error).splitlines()
    return fact("crashed", error=type(error).__name__, text=lines[0] if lines else "")
