"""Run cases: each on its own, so that whatever happens to one costs that one alone. Prints nothing."""

from __future__ import annotations

import gc
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import PurePath
from typing import Any, Protocol

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.options import Effort, Engines, Options, engines_of
from gradcheck.checks.pipeline import check_case, result
from gradcheck.checks.result import CaseResult, Failure, RunResult
from gradcheck.checks.timeout import OutOfTime, deadline, limit_of
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.errors import InvalidCase, Place
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Loaded
from gradcheck.language.loader import load


class Selected(Protocol):
    """Cases, and the errors of files, as `load` gives them."""

    @property
    def cases(self) -> tuple[Case, ...]: ...

    @property
    def errors(self) -> tuple[InvalidCase, ...]: ...


Path = str | os.PathLike[str]
Source = Path | Case | Selected | Iterable[Path | Case]
#: Told each result, and how many there will be in all.
OnResult = Callable[[CaseResult, int], object]
#: A case, or all errors of one file.
Work = Case | list[InvalidCase]

#: Statuses that count towards `maxfail`.
_FAILS = ("failed", "crashed", "invalid", "xpassed")


def run(
    source: Source, options: Options | None = None, *, on_result: OnResult | None = None, **choices: Any
) -> RunResult:
    """Check cases: paths of files, folders and `FILE::NAME`, or cases, or what `load` returned.

    What is done is said by `options`, or by its fields as keywords: `run("cases", engines=["core"], rtol=1e-6)`; see
    `Options`. `on_result` is called with each result and how many there will be in all.

    Raises UsageError for choices that make no sense; for what a case does, nothing: it is in the result. After a
    KeyboardInterrupt what has finished is returned, with `interrupted` set.
    """
    start = time.perf_counter()
    chosen = Options(**choices) if options is None else replace(options, **choices)
    a_run = _Run(chosen, engines_of(chosen))
    work = _in_order(_selected(source))
    interrupted = False
    try:
        with _ready(chosen, a_run.engines):
            a_run.check_all(work, on_result)
            if chosen.shrink is not None:
                a_run.shrink(work, chosen.shrink)
    except KeyboardInterrupt:
        interrupted = True
    return RunResult(tuple(a_run.results), time.perf_counter() - start, environment(), interrupted)


@contextmanager
def _ready(options: Options, engines: Engines) -> Iterator[None]:
    """Every engine's settings as most cases want them, so that they are changed twice in a run and not twice a case."""
    dtype = dtypes.BY_NAME[options.dtype or "float64"]
    with ExitStack() as stack:
        for engine in set(engines.all):
            if isinstance(engine, DefineByRun):
                stack.enter_context(engine.session(dtype))
        yield


def environment() -> dict[str, str]:
    """The versions that a result depends on."""
    torch: Any = sys.modules.get("torch")
    known = {"python": platform.python_version(), "numpy": np.__version__}
    try:
        known["torch"] = torch.__version__ if torch else metadata.version("torch")
    except metadata.PackageNotFoundError:
        known["torch"] = ""
    return known | {"platform": platform.platform()}


# What to run -----------------------------------------------------------------------------------------


def _selected(source: Source) -> Selected:
    if isinstance(source, Case):
        return Loaded((source,), ())
    if isinstance(source, (str, os.PathLike)):
        return load([source])
    if not isinstance(source, Iterable) or isinstance(source, Loaded):
        return source
    cases: list[Case] = []
    errors: list[InvalidCase] = []
    for item in source:
        found = Loaded((item,), ()) if isinstance(item, Case) else load([item])
        cases += found.cases
        errors += found.errors
    return Loaded(tuple({id(case): case for case in cases}.values()), tuple(errors))


def _in_order(selected: Selected) -> list[Work]:
    """Cases, and for each file that has errors all of them, as they stand in the files."""
    broken: dict[str, list[InvalidCase]] = {}
    for error in selected.errors:
        broken.setdefault(error.place.file, []).append(error)
    order: list[Work] = []
    waiting = list(reversed(broken.values()))
    for case in selected.cases:
        while waiting and _position(waiting[-1][0].place) < _position(case.place):
            order.append(waiting.pop())
        order.append(case)
    return order + waiting[::-1]


def _position(place: Place) -> tuple[tuple[str, ...], int]:
    return PurePath(place.file).parts, place.line


# One run ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Run:
    """What is chosen, and what has been found so far."""

    options: Options
    engines: Engines
    results: list[CaseResult] = field(default_factory=list)

    def check_all(self, work: Sequence[Work], on_result: OnResult | None) -> None:
        """Every case in turn, until `maxfail` of them have failed."""
        failed = 0
        for item in work:
            found = check_one(item, self.options, self.engines) if isinstance(item, Case) else _unreadable(item)
            self.results.append(found)
            if on_result is not None:
                on_result(found, len(work))
            failed += found.status in _FAILS
            if self.options.maxfail is not None and failed >= self.options.maxfail:
                return

    def shrink(self, work: Sequence[Work], effort: Effort) -> None:
        """Give some of the results that failed a smaller case that fails in the same way."""
        if not any(found.status in ("failed", "crashed") for found in self.results):
            return
        from gradcheck.checks.shrinking.reproduction import Reproductions, quick

        fast = quick(self.options)

        def check(case: Case, thorough: bool) -> CaseResult:
            return check_one(case, self.options if thorough else fast, self.engines)

        pairs = [(item, found) for item, found in zip(work, self.results, strict=False) if isinstance(item, Case)]
        smallest = Reproductions(self.options, self.engines, check).find_all(pairs, effort)
        self.results = [replace(found, smallest=smallest.get(found.id)) for found in self.results]


# One case --------------------------------------------------------------------------------------------


def check_one(case: Case, options: Options, engines: Engines) -> CaseResult:
    """The result of one case, whatever happens; a KeyboardInterrupt alone passes through."""
    start = time.perf_counter()
    limit = limit_of(options.timeout, engines.tested)
    try:
        with deadline(limit):
            found = check_case(case, options, engines)
            return _with_output(_further(found, case, options, engines), engines)
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


def _further(found: CaseResult, case: Case, options: Options, engines: Engines) -> CaseResult:
    """What is told of a case beyond its verdict; imported only where it was asked for."""
    if options.derived:
        from gradcheck.checks.independence import note_derived

        found = note_derived(found, case, options)
    if options.power:
        from gradcheck.checks.mutation.measure import with_power

        found = with_power(found, case, options, engines)
    return found


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


def _unreadable(errors: Sequence[InvalidCase]) -> CaseResult:
    """The result of a file that could not be read, or not all of it."""
    place = errors[0].place
    failures = tuple(_failure(error) for error in errors)
    return CaseResult(id=place.file, file=place.file, name="", status="invalid", place=place, errors=failures)
