"""Run cases in order, with caches, baselines, shrinking. Prints nothing.

Modules that compute are imported only when something must be computed.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import PurePath
from typing import Any, Protocol

import numpy as np

from gradcheck.checks.options import Engines, MakeEngines, Options, ShrinkEffort, engines_of
from gradcheck.checks.result import CaseResult, RunResult, fast_replace
from gradcheck.errors import InvalidCase, Place
from gradcheck.forks import reporting
from gradcheck.interrupts import Interrupt
from gradcheck.language.case import Case, CaseOrErrors, Loaded
from gradcheck.language.loader import load


class Selected(Protocol):
    """The cases and errors of files, as `load` returns them."""

    @property
    def cases(self) -> tuple[Case, ...]: ...

    @property
    def errors(self) -> tuple[InvalidCase, ...]: ...


Path = str | os.PathLike[str]
Source = Path | Case | Selected | Iterable[Path | Case]
#: The most bytes of arrays that the failures of a run keep for reports: later failures would take the memory of others.
_MOST_KEPT = 2**28
#: Called with each result, and the number of all results.
OnResult = Callable[[CaseResult, int], object]
#: Results with their indices, as they arrive.
Arrived = Generator[tuple[int, CaseResult], None, None]


@reporting()
def run(
    source: Source, options: Options | None = None, *, on_result: OnResult | None = None, **choices: Any
) -> RunResult:
    """Check cases: paths of files, folders and `FILE::NAME`, or Case objects.

    Also accepts the return value of `load`. `options`, or its fields as keywords, select what is done: `run("cases",
    engines=["core"], rtol=1e-6)`; see `Options`. `on_result` is called with each result and the number of all
    results.

    Raises UsageError for invalid options. Errors of a case are in its result. After an interrupt the finished
    results are returned, with `interrupted` set.
    """
    start = time.perf_counter()
    chosen = Options(**choices) if options is None else replace(options, **choices)
    engines = cache(lambda: _make_engines(chosen))
    if not chosen.uses_workers and chosen.cache is None:
        engines()  # report their errors at once
    work = _in_file_order(_select_cases(source))
    results: list[CaseResult] = []
    early: dict[int, CaseResult] = {}
    interrupted = False
    try:
        with closing(_cached_and_computed(work, chosen, engines)) as arrived:
            for found in _in_work_order(_with_cases(arrived, work, chosen), early, chosen):
                results.append(found)
                if on_result is not None:
                    on_result(found, len(work))
        early.clear()
        if chosen.shrink is not None:
            results = _with_reproductions(list(zip(work, results, strict=False)), chosen, engines, chosen.shrink)
    except (KeyboardInterrupt, Interrupt):
        interrupted = True
        for _, found in sorted(early.items()):
            results.append(found)
            if on_result is not None:
                on_result(found, len(work))
    return RunResult(tuple(results), time.perf_counter() - start, environment(), interrupted, len(work))


def _with_cases(arrived: Arrived, work: Sequence[CaseOrErrors], options: Options) -> Arrived:
    """Yield each result with its case, in the run's dtype; bound their arrays."""
    left = min(_MOST_KEPT, (options.max_memory or 4 * _MOST_KEPT) // 4)
    for at, found in arrived:
        if found.status != "passed":
            size = sum(c.bytes_of_arrays for c in found.comparisons)
            if size > left:
                found = replace(found, comparisons=tuple(c.without_arrays() for c in found.comparisons))
            else:
                left -= size
        case = work[at]
        if isinstance(case, Case) and found.case is None:
            found = fast_replace(found, case=options.of(case).apply(case))
        yield at, found


def _cached_and_computed(work: Sequence[CaseOrErrors], options: Options, engines: MakeEngines) -> Arrived:
    """Yield each result with its index: cached ones, then computed ones."""
    if options.cache is None:
        yield from _computed_results(work, options, engines)
        return
    from gradcheck.checks.reuse.result_cache import ResultCache

    results_cache = ResultCache(options.cache, options, work)
    yield from results_cache.cached_results.items()
    rest = [at for at in range(len(work)) if at not in results_cache.cached_results]
    if not rest:
        return
    try:
        with closing(_computed_results([work[at] for at in rest], options, engines)) as arrived:
            for number, found in arrived:
                yield rest[number], results_cache.record(rest[number], found)
    finally:
        results_cache.keep()


def _computed_results(work: Sequence[CaseOrErrors], options: Options, engines: MakeEngines) -> Arrived:
    """Yield each result with its index, computed here or by an executor."""
    from gradcheck.checks.reuse.cached_reference import open_answers

    with open_answers(work, options) as answers:
        if options.uses_workers or options.limits_time:
            from gradcheck.checks.scheduling.parallel import plan_run, run_in_parallel

            plan = plan_run(work, options, engines, answers)
            if plan is not None:
                yield from run_in_parallel(work, options, engines, plan)
                return
        from gradcheck.checks.scheduling.sequential import run_sequentially

        yield from enumerate(run_sequentially(work, options, engines(), answers))


def _make_engines(options: Options) -> Engines:
    if options.cache is None:
        return engines_of(options)
    from gradcheck.checks.reuse.cached_reference import engines_with_cache, may_cache_reference

    return engines_with_cache(options, may_cache_reference(options))


def _in_work_order(arrived: Arrived, early: dict[int, CaseResult], options: Options) -> Iterator[CaseResult]:
    """Yield results in order, up to `maxfail`; `early` ones wait."""
    place = failed = 0
    for at, found in arrived:
        early[at] = options.apply_baseline(found)
        while place in early:
            result = early.pop(place)
            yield result
            place += 1
            failed += result.is_failing
            if options.maxfail is not None and failed >= options.maxfail:
                return


def _with_reproductions(
    done: Sequence[tuple[CaseOrErrors, CaseResult]], options: Options, make: MakeEngines, effort: ShrinkEffort
) -> list[CaseResult]:
    """Return results, some failures with a smallest reproduction."""
    results = [found for _, found in done]
    if not any(found.status in ("failed", "crashed") for found in results):
        return results
    from gradcheck.checks.scheduling.sequential import check_isolated, engine_sessions
    from gradcheck.checks.shrinking.reproduction import ReproductionSearch, explaining_options, verdict_options

    fast, slow, engines = verdict_options(options), explaining_options(options), make()

    def check(case: Case, explained: bool) -> CaseResult:
        chosen = (slow if explained else fast).of(case)
        return check_isolated(case, chosen, engines.of(chosen))

    pairs = [(item, found) for item, found in done if isinstance(item, Case)]
    with engine_sessions(options, engines):
        smallest, lost = ReproductionSearch(options, engines, check).find_all(pairs, effort)
    return [
        replace(found, smallest=smallest.get(found.id), incomplete=(*found.incomplete, *lost.get(found.id, ())))
        for found in results
    ]


def environment() -> dict[str, str]:
    """Return the versions that a result depends on."""
    torch: Any = sys.modules.get("torch")
    known = {"python": platform.python_version(), "numpy": np.__version__}
    try:
        known["torch"] = torch.__version__ if torch else metadata.version("torch")
    except metadata.PackageNotFoundError:
        known["torch"] = ""
    return known | {"platform": platform.platform()}


def _select_cases(source: Source) -> Selected:
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


def _in_file_order(selected: Selected) -> list[CaseOrErrors]:
    """Return cases, and each file's errors together, in file order."""
    broken: dict[str, list[InvalidCase]] = {}
    for error in selected.errors:
        broken.setdefault(error.place.file, []).append(error)
    order: list[CaseOrErrors] = []
    waiting = list(reversed(broken.values()))
    for case in selected.cases:
        while waiting and _position(waiting[-1][0].place) < _position(case.place):
            order.append(waiting.pop())
        order.append(case)
    return order + waiting[::-1]


def _position(place: Place) -> tuple[tuple[str, ...], int]:
    return PurePath(place.file).parts, place.line
