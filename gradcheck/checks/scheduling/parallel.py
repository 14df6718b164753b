"""Run cases by an executor: local processes, or the user's own.

Cases are sent in chunks, and results return as they are ready; neither changes a result. If a chunk is lost, its
cases are sent again one by one: one that is lost again is the culprit.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from gradcheck.checks.baseline import Baseline
from gradcheck.checks.isolation import worker_processes
from gradcheck.checks.isolation.fork_call import ForkedWorker
from gradcheck.checks.isolation.memory_limit import default_memory_limit
from gradcheck.checks.isolation.pickling import Packer
from gradcheck.checks.isolation.worker_processes import LocalExecutor, ProcessEnded, WorkerPool, can_fork
from gradcheck.checks.options import Engines, MakeEngines, Options
from gradcheck.checks.result import CaseResult
from gradcheck.checks.reuse.cached_reference import (
    CachedReference,
    ReferenceAnswers,
    engines_with_cache,
    may_cache_reference,
)
from gradcheck.checks.scheduling.sequential import (
    check_with_answers,
    crashed_result,
    engine_sessions,
    make_checker,
    unreadable_result,
)
from gradcheck.engines.library_imports import importing_elsewhere
from gradcheck.engines.registry import ENGINES
from gradcheck.engines.resolve import InstalledSpec
from gradcheck.engines.user_modules import module_of_name
from gradcheck.errors import UsageError, exception_text
from gradcheck.facts import fact
from gradcheck.forks import reporting
from gradcheck.language.case import Case, CaseOrErrors

_DASK = "dask://"


def executor_factory(spec: str) -> Callable[[], Executor]:
    """Return a function that makes the executor. Raises UsageError."""
    if spec.startswith(_DASK):
        return _dask(spec)
    where, _, attribute = spec.rpartition(":")
    if not where or not attribute:
        raise UsageError(f"'{spec}' names no executor", hint="write MODULE:FACTORY or dask://HOST:PORT")
    folder = None if isinstance(spec, InstalledSpec) else Path.cwd()
    try:
        with importing_elsewhere():
            found: Any = module_of_name(where, folder)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise UsageError(f"{spec} cannot be imported: {type(error).__name__}: {exception_text(error)}") from error
    return lambda: _make_executor(spec, found)


def _make_executor(spec: str, factory: Any) -> Executor:
    try:
        made: Any = factory()
    except Exception as error:
        raise UsageError(f"{spec} makes no executor: {type(error).__name__}: {exception_text(error)}") from error
    if not isinstance(made, Executor):
        hint = "it must return a concurrent.futures.Executor"
        raise UsageError(f"{spec} makes no executor, but a {type(made).__name__}", hint=hint)
    return made


def _dask(spec: str) -> Callable[[], Executor]:
    address = spec.removeprefix(_DASK)
    try:
        with importing_elsewhere():
            distributed: Any = importlib.import_module("distributed")
    except ImportError as error:
        text = f"dask cannot be imported: {exception_text(error)}"
        raise UsageError(text, hint="pip install 'gradcheck[dask]'") from error

    def make() -> Executor:
        try:
            return _Dask(distributed.Client(f"tcp://{address}", timeout="10s"))
        except (OSError, ValueError) as error:
            raise UsageError(f"no scheduler answers at {address}: {error}") from error

    return make


class _Dask(Executor):
    """The executor of a dask client; it closes the client."""

    def __init__(self, client: Any) -> None:
        self._client, self._executor = client, client.get_executor(pure=False)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call; if its worker is lost, another runs it."""
        future: Future[Any] = self._executor.submit(function, *args, **kwargs)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._executor.shutdown(wait=wait and not cancel_futures)
        self._client.close()


#: The largest chunk, and the chunks each worker should get, so that all end together.
_CHUNK, _CHUNKS = 16, 8
#: Chunks sent at a time: for each local worker, or for another executor in all.
_IN_FLIGHT_PER_WORKER, _IN_FLIGHT_REMOTE = 2, 64

_KILLED = "compiled code did it, of an engine or of a library, or the system, for want of memory"
_EXITED = "the code of an engine, or of a library, did it: by os._exit(), or by exit() in C"

#: A case with its index in the run.
Numbered = tuple[int, Case]


@dataclass(frozen=True, slots=True)
class ParallelPlan:
    """The executor of a run, and how cases are sent to it."""

    make_executor: Callable[[], Executor]
    max_in_flight: int
    size: int
    shared: tuple[Any, ...] = ()  # objects that workers have from the start
    answers: ReferenceAnswers | None = None


def preload(options: Options) -> None:
    """Import the modules that workers will need, in the background."""
    worker_processes.start_fork_server(_modules(options))


def _modules(options: Options, reference: bool = True) -> list[str]:
    engines = (*options.engines, options.reference) if reference else options.engines
    names = [name for name in engines if isinstance(name, str)]
    return [
        __name__,
        *(ENGINES[name].module for name in names if name in ENGINES and name not in worker_processes.THREADED),
    ]


def plan_run(
    work: Sequence[CaseOrErrors], options: Options, engines: MakeEngines, answers: ReferenceAnswers | None = None
) -> ParallelPlan | None:
    """Return how to distribute the run; None to run it in this process.

    With complete `answers` of the reference, no worker imports it first.

    Raises UsageError for an unknown executor.
    """
    number = sum(isinstance(item, Case) for item in work)
    recalled = answers is not None and answers.is_complete
    if options.executor is not None:
        make = executor_factory(options.executor) if isinstance(options.executor, str) else options.executor
        return ParallelPlan(make, _IN_FLIGHT_REMOTE, _size(number, _IN_FLIGHT_REMOTE), answers=answers)
    is_named = all(isinstance(one, str) for one in (*options.engines, options.reference))
    needs_process = options.limits_time and is_named and not sys.modules.keys().isdisjoint(worker_processes.THREADED)
    if (options.jobs > 1 or options.in_workers or needs_process) and number:
        jobs = min(options.jobs, number)
        size = 1 if options.limits_time else _size(number, jobs * _CHUNKS)
        modules, first = _modules(options, not recalled), (warm_up, _settings(options, ()))
        return ParallelPlan(
            lambda: WorkerPool(jobs, preload=modules, first=first), jobs * _IN_FLIGHT_PER_WORKER, size, answers=answers
        )
    if options.limits_time and can_fork():
        own = engines()
        if isinstance(own.reference, CachedReference) and not recalled:
            _ = own.reference.real_engine  # once, not in every process
        shared = (own, *own.all_with_overrides, *(item for item in work if isinstance(item, Case)))
        return ParallelPlan(lambda: ForkedWorker(shared), 1, 1, shared, answers)
    return None


def _size(number: int, chunks: int) -> int:
    return max(1, min(_CHUNK, -(-number // chunks)))


def run_in_parallel(
    work: Sequence[CaseOrErrors], options: Options, engines: MakeEngines, plan: ParallelPlan
) -> Iterator[tuple[int, CaseResult]]:
    """Yield each result with its index, in the order of arrival."""
    cases = [(place, item) for place, item in enumerate(work) if isinstance(item, Case)]
    yield from ((place, unreadable_result(item)) for place, item in enumerate(work) if not isinstance(item, Case))
    with (
        nullcontext() if options.executor is None else worker_processes.python_environment()
    ):  # for processes of the executor
        division = _ParallelRun(options, engines, plan)
        try:
            yield from division.results([cases[at : at + plan.size] for at in range(0, len(cases), plan.size)])
        finally:
            division.executor.shutdown(wait=isinstance(division.executor, LocalExecutor), cancel_futures=True)


class _ParallelRun:
    def __init__(self, options: Options, engines: MakeEngines, plan: ParallelPlan) -> None:
        self.options, self.engines, self.plan = options, engines, plan
        self.settings = _settings(options, plan.shared)
        self.transport = Packer(plan.shared)
        self.executor = plan.make_executor()
        self.in_flight: dict[Future[bytes], list[Numbered]] = {}

    def results(self, chunks: Sequence[list[Numbered]]) -> Iterator[tuple[int, CaseResult]]:
        waiting = deque(chunks)
        retries: deque[list[Numbered]] = deque()  # sent alone, to find the case that fails
        while waiting or retries or self.in_flight:
            while waiting and not retries and len(self.in_flight) < self.plan.max_in_flight:
                self._send(waiting.popleft())
            if retries and not self.in_flight:
                self._send(retries.popleft())
            alone = len(self.in_flight) == 1
            for future in wait(self.in_flight, return_when=FIRST_COMPLETED).done:
                chunk = self.in_flight.pop(future)
                error = future.exception()
                if error is None:
                    yield from self._unpack_results(future.result(), chunk)
                elif isinstance(error, UsageError):
                    raise error
                elif isinstance(error, worker_processes.ProcessStartError):
                    raise UsageError(f"no process can be started: {error}", hint="try -j 1") from error
                elif len(chunk) > 1 or (isinstance(error, BrokenExecutor) and not alone):
                    retries += [[one] for one in chunk]
                else:
                    yield chunk[0][0], self._crashed_result(chunk[0][1], error)

    def _send(self, chunk: list[Numbered]) -> None:
        try:
            answers = self.plan.answers
            known = [None if answers is None else answers.lookup(case) for _, case in chunk]
            cases = self.transport.pack([(case, one) for (_, case), one in zip(chunk, known, strict=True)])
        except Exception as error:  # one of the cases cannot be sent
            lost: Future[bytes] = Future()
            lost.set_exception(error)
            self.in_flight[lost] = chunk
            return
        if isinstance(self.executor, LocalExecutor):
            limit = self.options.of(chunk[0][1]).timeout  # with a limit, a chunk is one case
            self.in_flight[self.executor.submit_within(limit, check_chunk, self.settings, cases)] = chunk
            return
        try:
            future = self.executor.submit(check_chunk, self.settings, cases)
        except BrokenExecutor:
            self.executor.shutdown(wait=False)
            self.executor = self.plan.make_executor()
            future = self.executor.submit(check_chunk, self.settings, cases)
        self.in_flight[future] = chunk

    def _unpack_results(self, answer: bytes, chunk: list[Numbered]) -> Iterator[tuple[int, CaseResult]]:
        found = Packer(_CasesAndEngines([case for _, case in chunk], self.engines)).unpack(answer)
        for (place, case), (result, new_answers) in zip(chunk, found, strict=True):
            if self.plan.answers is not None:
                self.plan.answers.add(case, new_answers)
            yield place, result

    def _crashed_result(self, case: Case, error: BaseException) -> CaseResult:
        found = replace(crashed_result(case, self.options.of(case), error), seconds=getattr(error, "seconds", 0.0))
        if not isinstance(error, ProcessEnded):
            return found
        ended = replace(
            found.errors[0],
            message=fact("process_ended", text=str(error)),
            hint=_KILLED if error.code < 0 else _EXITED,
            details="",
        )
        return replace(found, errors=(ended,))


class _CasesAndEngines(Sequence[Any]):
    """The objects that a worker shares: cases, then engines, made on access."""

    def __init__(self, cases: list[Case], engines: MakeEngines) -> None:
        self._cases, self._engines = cases, engines

    def __len__(self) -> int:
        return len(self._cases)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cases)

    def __getitem__(self, place: Any) -> Any:
        count = len(self._cases)
        return self._cases[place] if place < count else self._engines().all_with_overrides[place - count]


def _settings(options: Options, shared: Sequence[Any]) -> bytes:
    """Return the settings for workers. Raises UsageError for some engines."""
    known = options.baseline  # of which workers need only whether drift is measured
    known = None if known is None else Baseline(known.file, measures_drift=known.measures_drift)
    memory = options.memory
    if memory is None and options.executor is None:
        memory = default_memory_limit(options.jobs)
    alone = replace(options, jobs=1, in_workers=False, executor=None, memory=memory)
    sent = replace(alone, shrink=None, maxfail=None, baseline=known, cache=None)
    own = [engine for engine in (*options.engines, options.reference) if not isinstance(engine, str)]
    try:
        if not shared and any(type(engine).__module__ == "__main__" for engine in own):
            raise TypeError("it is defined in the program itself")
        return Packer(shared).pack((sent, shared[0] if shared else None, may_cache_reference(options)))
    except Exception as error:
        hint = "name it as FILE.py:CLASS, or PACKAGE.MODULE:CLASS"
        raise UsageError(f"an engine cannot be sent to another process: {exception_text(error)}", hint=hint) from error


#: Cases change settings of libraries, so a process checks one at a time.
_ONE_AT_A_TIME = threading.Lock()
#: The settings that were read last, with their options and engines.
_last_settings: tuple[bytes, Options, Engines] | None = None


def warm_up(settings: bytes) -> None:
    """Load what every case needs, outside of any case's time."""
    with _ONE_AT_A_TIME:
        _load_settings(settings)


def check_chunk(settings: bytes, cases: bytes) -> bytes:
    """Return the results of some cases, with new answers of the reference."""
    worker_processes.leave_safe_path()
    with _ONE_AT_A_TIME, reporting():
        options, engines = _load_settings(settings)
        items = Packer(worker_processes.inherited_objects).unpack(cases)
        check = make_checker(options, engines)
        with engine_sessions(options, engines):
            found = [check_with_answers(engines, known, partial(check, case)) for case, known in items]
        return Packer([*(case for case, _ in items), *engines.all_with_overrides]).pack(found)


def _load_settings(settings: bytes) -> tuple[Options, Engines]:
    global _last_settings
    if _last_settings is None or _last_settings[0] != settings:
        options, engines, uses_cache = Packer(worker_processes.inherited_objects).unpack(settings)
        _last_settings = settings, options, engines or engines_with_cache(options, uses_cache)
    return _last_settings[1], _last_settings[2]
