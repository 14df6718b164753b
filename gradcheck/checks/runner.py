"""One case on its own: whatever happens to it, it has a result, and costs itself alone. Prints nothing."""

from __future__ import annotations

import gc
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace

from gradcheck.checks.options import Engines, Options
from gradcheck.checks.pipeline import check_case, result
from gradcheck.checks.result import CaseResult, Failure
from gradcheck.checks.timeout import OutOfTime, deadline, limit_of
from gradcheck.errors import InvalidCase, Place
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case

#: Adds something to the result of a case.
Further = Callable[[CaseResult, Case, Options, Engines], CaseResult]


def check_one(case: Case, options: Options, engines: Engines, further: Sequence[Further] = ()) -> CaseResult:
    """The result of one case, whatever happens; a KeyboardInterrupt alone passes through. `further` adds to it what is
    told of a case beyond its verdict."""
    start = time.perf_counter()
    limit = limit_of(options.timeout, engines.tested)
    try:
        with deadline(limit):
            found = check_case(case, options, engines)
            for add in further:
                found = add(found, case, options, engines)
            return _with_output(found, engines)
    except InvalidCase as error:
        found = result(case, options, "invalid", errors=(_failure(error),))
    except OutOfTime:
        failure = Failure("timeout", fact("ran_out_of_time", seconds=limit), case.place)
        found = result(case, options, "crashed", errors=(failure,))
    except MemoryError as error:
        gc.collect()
        failure = Failure("memory", fact("ran_out_of_memory", text=str(error)), case.place)
        found = result(case, options, "crashed", errors=(failure,))
    except Exception as error:
        found = result(case, options, "crashed", errors=(_crash(error, case.place),))
    return _with_output(replace(found, seconds=time.perf_counter() - start), engines)


def _with_output(found: CaseResult, engines: Engines) -> CaseResult:
    """The same with what engines have printed, where there are any that are listened to."""
    printed = {engine.name: engine.output.take() for engine in engines.tested if hasattr(engine, "output")}
    printed = {name: text for name, text in printed.items() if text.strip()}
    return replace(found, output=printed) if printed else found


def _crash(error: Exception, place: Place) -> Failure:
    """What went wrong inside gradcheck or an engine; the traceback is a detail for whoever mends it."""
    details = "".join(traceback.format_exception(error, limit=-20))
    return Failure("crash", crash_of(error), place, "this is a bug in an engine or in gradcheck", details)


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
