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
from dataclasses import replace
from importlib import metadata
from pathlib import PurePath
from typing import Any, Protocol

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.effort import Effort
from gradcheck.checks.options import Settings, settings
from gradcheck.checks.pipeline import check_case, result
from gradcheck.checks.result import CaseResult, CaseStatus, Failure, RunResult
from gradcheck.checks.timeout import OutOfTime, deadline
from gradcheck.engines.base import Engine, session, take_output, time_limit
from gradcheck.errors import InvalidCase, Place
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


def run(
    source: Source,
    *,
    engines: Sequence[str | Engine] = ("core",),
    reference: str | Engine = "torch",
    dtype: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int | None = None,
    trials: int | None = None,
    timeout: float | None = None,
    oracle: str = "auto",
    order: int = 1,
    power: bool = False,
    derived: bool = False,
    maxfail: int | None = None,
    shrink: Effort | None = None,
    on_result: Callable[[CaseResult, int], object] | None = None,
) -> RunResult:
    """Check cases: paths of files, folders and `FILE::NAME`, or cases, or what `load` returned.

    Engines are named ("core", "torch") or objects. `rtol` and `atol` replace every tolerance, `seed` every case's
    own, `dtype` every case's; `timeout` is in seconds, for each case. `oracle` "numeric" checks every gradient against
    differences of the forward too, not only what failed ("auto"); "none" never asks. `order` 2 checks gradients of
    gradients too. `power` plants faults in what passes and counts those that are caught; `derived` notes which formulas
    equal the derived ones. The run stops after `maxfail` cases that failed,
    crashed or are invalid. `shrink` looks for the smallest reproductions of failures. `on_result` is called with each
    result and how many there will be in all.

    Raises UsageError for choices that make no sense; for what a case does, nothing: it is in the result. After a
    KeyboardInterrupt what has finished is returned, with `interrupted` set.
    """
    start = time.perf_counter()
    chosen = settings(engines, reference, dtype, rtol, atol, seed, trials, timeout, oracle, order, power, derived)
    work = _in_order(_selected(source))
    results: list[CaseResult] = []
    interrupted = False
    try:
        with _ready(chosen):
            _run_all(work, chosen, maxfail, on_result, results)
            if shrink is not None:
                results = _shrunk(work, results, chosen, shrink)
    except KeyboardInterrupt:
        interrupted = True
    return RunResult(tuple(results), time.perf_counter() - start, environment(), interrupted)


def _run_all(
    work: Sequence[Case | list[InvalidCase]],
    chosen: Settings,
    maxfail: int | None,
    on_result: Callable[[CaseResult, int], object] | None,
    results: list[CaseResult],
) -> None:
    failed = 0
    for item in work:
        found = _run_one(item, chosen) if isinstance(item, Case) else _invalid(item)
        results.append(found)
        if on_result is not None:
            on_result(found, len(work))
        failed += found.status in ("failed", "crashed", "invalid", "xpassed")
        if maxfail is not None and failed >= maxfail:
            return


def _shrunk(
    work: Sequence[Case | list[InvalidCase]], results: list[CaseResult], chosen: Settings, effort: Effort
) -> list[CaseResult]:
    """The results, some of those that failed with a smaller case that fails in the same way."""
    if not any(found.status in ("failed", "crashed") for found in results):
        return results
    from gradcheck.checks.shrinking import quick, shrink_all

    fast = quick(chosen)
    pairs = [(item, found) for item, found in zip(work, results, strict=False) if isinstance(item, Case)]
    smallest = shrink_all(pairs, lambda case, thorough: _run_one(case, chosen if thorough else fast), chosen, effort)
    return [replace(found, smallest=smallest.get(found.id)) for found in results] if smallest else results


@contextmanager
def _ready(chosen: Settings) -> Iterator[None]:
    """Every engine's settings as most cases want them, so that they are changed twice in a run and not twice a case."""
    dtype = dtypes.BY_NAME[chosen.dtype or "float64"]
    with ExitStack() as stack:
        for engine in {*chosen.engines, chosen.reference}:
            stack.enter_context(session(engine, dtype))
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


def _in_order(selected: Selected) -> list[Case | list[InvalidCase]]:
    """Cases, and for each file that has errors all of them, as they stand in the files."""
    broken: dict[str, list[InvalidCase]] = {}
    for error in selected.errors:
        broken.setdefault(error.place.file, []).append(error)
    order: list[Case | list[InvalidCase]] = []
    waiting = list(reversed(broken.values()))
    for case in selected.cases:
        while waiting and _position(waiting[-1][0].place) < _position(case.place):
            order.append(waiting.pop())
        order.append(case)
    return order + waiting[::-1]


def _position(place: Place) -> tuple[tuple[str, ...], int]:
    return PurePath(place.file).parts, place.line


# One case --------------------------------------------------------------------------------------------


def _run_one(case: Case, chosen: Settings) -> CaseResult:
    start = time.perf_counter()
    limit = _limit(chosen)
    try:
        with deadline(limit):
            return _with_output(_further(case, check_case(case, chosen), chosen), chosen)
    except InvalidCase as error:
        found = _failed(case, chosen, "invalid", _failure(error))
    except OutOfTime:
        message = f"ran out of time after {limit:g} seconds"
        found = _failed(case, chosen, "crashed", Failure("timeout", message, case.place))
    except MemoryError as error:
        gc.collect()
        found = _failed(case, chosen, "crashed", Failure("memory", f"ran out of memory: {error}", case.place))
    except Exception as error:
        found = _failed(case, chosen, "crashed", _crash(error, case.place))
    return _with_output(replace(found, seconds=time.perf_counter() - start), chosen)


def _further(case: Case, found: CaseResult, chosen: Settings) -> CaseResult:
    """What is told of a case beyond its verdict; imported only where it was asked for."""
    if chosen.derived:
        from gradcheck.checks.origins import with_origins

        found = with_origins(case, found, chosen)
    if chosen.power:
        from gradcheck.checks.mutation import with_power

        found = with_power(case, found, chosen)
    return found


def _limit(chosen: Settings) -> float | None:
    """Seconds for a case: the run's choice, else what engines that may never return ask for."""
    if chosen.timeout is not None:
        return chosen.timeout
    return max(map(time_limit, chosen.engines), default=0.0) or None


def _with_output(found: CaseResult, chosen: Settings) -> CaseResult:
    """The same with what engines have printed, where there are any that are listened to."""
    printed = {engine.name: take_output(engine) for engine in chosen.engines}
    printed = {name: text for name, text in printed.items() if text.strip()}
    return replace(found, output=printed) if printed else found


def _failed(case: Case, chosen: Settings, status: CaseStatus, failure: Failure) -> CaseResult:
    return result(case, chosen, status, errors=(failure,))


def _crash(error: Exception, place: Place) -> Failure:
    """What went wrong inside gradcheck or an engine; the traceback is a detail for whoever mends it."""
    text = str(error).strip().splitlines()
    message = f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
    details = "".join(traceback.format_exception(error, limit=-20))
    return Failure("crash", message, place, "this is a bug in an engine or in gradcheck", details)


def _failure(error: InvalidCase) -> Failure:
    return Failure(error.kind, error.message, error.place, error.hint)


def _invalid(errors: Sequence[InvalidCase]) -> CaseResult:
    """The result of a file that could not be read, or not all of it."""
    place = errors[0].place
    failures = tuple(_failure(error) for error in errors)
    return CaseResult(id=place.file, file=place.file, name="", status="invalid", place=place, errors=failures)
