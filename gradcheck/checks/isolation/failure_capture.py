"""What is told of a verdict beyond it may fail without costing it: that is then told, in a line."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Callable
from dataclasses import replace

from gradcheck.checks.isolation.time_limit import OutOfTime
from gradcheck.checks.result import Failure
from gradcheck.errors import Place, exception_text
from gradcheck.facts import Fact, fact
from gradcheck.forks import end_fork

#: How much of a traceback is kept, from its end.
_FRAMES = 20


def try_part(part: str, look: Callable[[], object], lost: list[Failure]) -> bool:
    """Look for a `part` of what explains a verdict. Where that fails, `lost` gets how, and what was found before stays.
    False where time is up, so that nothing else should be begun."""
    try:
        look()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an engine that exits does not exit us
        found = failure_of(error)
        lost.append(replace(found, message=fact("not_found_out", part=part, why=found.message)))
        return not isinstance(error, OutOfTime)
    finally:
        end_fork()
    return True


def failure_of(error: BaseException, place: Place | None = None) -> Failure:
    """What nobody expected, as an error of a case: out of time, out of memory, or a crash."""
    at = place or Place()
    if isinstance(error, OutOfTime):
        return Failure("timeout", _out_of_time(error), at)
    if isinstance(error, MemoryError):
        gc.collect()
        return Failure("memory", fact("ran_out_of_memory", text=exception_text(error)), at)
    details = "".join(traceback.format_exception(error, limit=-_FRAMES))  # for whoever mends it
    return Failure("crash", crash_of(error), at, "this is a bug in an engine or in gradcheck", details)


def _out_of_time(error: OutOfTime) -> Fact:
    """How long that was, and what had not returned where that was noted."""
    for inside in getattr(error, "__notes__", ()):
        return fact("ran_out_of_time_inside", seconds=error.seconds, inside=inside)
    return fact("ran_out_of_time", seconds=error.seconds)


def crash_of(error: BaseException) -> Fact:
    """An exception that nobody expected: its type, and the first line of what it says."""
    lines = exception_text(error).splitlines()
    return fact("crashed", error=type(error).__name__, text=lines[0] if lines else "")
