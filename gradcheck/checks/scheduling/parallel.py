"""A run's cases by way of an executor: processes of this machine, or whatever else takes functions and calls them.

Cases go out in chunks, so many at a time, and results come back as they are ready; neither decides what is found. Where
a chunk is lost, its cases are asked again one by one: the one that is lost again has cost itself alone.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gradcheck.checks.isolation import worker_processes
from gradcheck.checks.reuse.reference_answers import Answers, may_recall
from gradcheck.checks.baseline import Baseline
from gradcheck.checks.isolation.executors import executor_of
from gradcheck.checks.scheduling.sequential import checker, ready, recalling
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.reuse.cached_reference import Known, Recalled, engines_with_memory
from gradcheck.checks.result import CaseResult
from gradcheck.checks.scheduling.isolated_case import broken, unreadable
from gradcheck.checks.isolation.pickling import Transport
from gradcheck.checks.isolation.worker_processes import THREADED, CannotStart, ProcessEnded, Workers, can_fork, serve_forks
from gradcheck.engines.resolve import ENGINES
from gradcheck.errors import UsageError, text_of
from gradcheck.facts import fact
from gradcheck.forks import reporting
from gradcheck.language.case import Case, Work

#: The most cases that go out together; and how many chunks each worker should get, so that none ends much later.
_CHUNK, _CHUNKS = 16, 8
#: Chunks that are out at a time: of our own workers for each, of another executor together.
_AHEAD, _ELSEWHERE = 2, 64

_KILLED = "compiled code did it, of an engine or of a library, or the system, for want of memory"
_EXITED = "the code of an engine, or of a library, did it: by os._exit(), or by exit() in C"

#: Where in the run a case stands, and the case.
Numbered = tuple[int, Case]


@dataclass(frozen=True, slots=True)
class Plan:
    """Who works (`make` again makes another, should that one break), how many chunks are out at a time, of how many
    cases; what workers have from the beginning, which need not be sent; and what the reference has answered before."""

    make: Callable[[], Executor]
    ahead: int
    size: int
    shared: tuple[Any, ...] = ()
    answers: Answers | None = None


#: Makes the engines of the run in this process, which needs them only where something fails.
MakeEngines = Callable[[], Engines]


def preload(options: Options) -> None:
    """Have the modules imported that workers will need, while this process does something else."""
    serve_forks(_modules(options))


def _modules(options: Options, reference: bool = True) -> list[str]:
    asked = (*options.engines, options.reference) if reference else options.engines
    names = [name for name in asked if isinstance(name, str)]
    return [
        __name__,
        *(ENGINES[name][0].partition(":")[0] for name in names if name in ENGINES and name not in THREADED),
    ]


def plan_of(
    work: Sequence[Work], options: Options, engines: MakeEngines, answers: Answers | None = None
) -> Plan | None:
    """How the run is to be divided; None where it is not. Where there are `answers` of the reference about every case,
    nobody begins by making it. Raises UsageError for an executor that there is not."""
    number = sum(isinstance(item, Case) for item in work)
    recalled = answers is not None and answers.complete
    if options.executor is not None:
        make = executor_of(options.executor) if isinstance(options.executor, str) else options.executor
        return Plan(make, _ELSEWHERE, _size(number, _ELSEWHERE), answers=answers)
    if (options.jobs > 1 or options.in_workers) and number:
        jobs = min(options.jobs, number)
        size = 1 if options.limits_time else _size(number, jobs * _CHUNKS)
        modules, first = _modules(options, not recalled), (make_ready, _settings(options, ()))
        return Plan(lambda: Workers(jobs, preload=modules, first=first), jobs * _AHEAD, size, answers=answers)
    if options.limits_time and can_fork():
        own = engines()
        if isinstance(own.reference, Recalled) and not recalled:
            _ = own.reference.made  # once, and not in every process
        shared = (own, *own.every, *(item for item in work if isinstance(item, Case)))
        return Plan(lambda: Workers(1, forked=shared), _AHEAD, 1, shared, answers)
    return None


def _size(number: int, chunks: int) -> int:
    return max(1, min(_CHUNK, -(-number // chunks)))


def in_parallel(
    work: Sequence[Work], options: Options, engines: MakeEngines, plan: Plan
) -> Iterator[tuple[int, CaseResult]]:
    """Each result with its place in the work, as they come."""
    cases = [(place, item) for place, item in enumerate(work) if isinstance(item, Case)]
    yield from ((place, unreadable(item)) for place, item in enumerate(work) if not isinstance(item, Case))
    division = _Division(options, engines, plan)
    try:
        yield from division.results([cases[at : at + plan.size] for at in range(0, len(cases), plan.size)])
    finally:
        division.executor.shutdown(wait=isinstance(division.executor, Workers), cancel_futures=True)


class _Division:
    """A run that is divided: what is out, and who has it."""

    def __init__(self, options: Options, engines: MakeEngines, plan: Plan) -> None:
        self.options, self.engines, self.plan = options, engines, plan
        self.settings = _settings(options, plan.shared)
        self.transport = Transport(plan.shared)
        self.executor = plan.make()
        self.out: dict[Future[bytes], list[Numbered]] = {}

    def results(self, chunks: Sequence[list[Numbered]]) -> Iterator[tuple[int, CaseResult]]:
        """As they come."""
        waiting = deque(chunks)
        suspects: deque[list[Numbered]] = deque()  # that must be alone, so that it is known who is to blame
        while waiting or suspects or self.out:
            while waiting and not suspects and len(self.out) < self.plan.ahead:
                self._send(waiting.popleft())
            if suspects and not self.out:
                self._send(suspects.popleft())
            alone = len(self.out) == 1
            for future in wait(self.out, return_when=FIRST_COMPLETED).done:
                chunk = self.out.pop(future)
                error = future.exception()
                if error is None:
                    yield from self._answered(future.result(), chunk)
                elif isinstance(error, UsageError):
                    raise error
                elif isinstance(error, CannotStart):
                    raise UsageError(f"no process can be started: {error}", hint="try -j 1") from error
                elif len(chunk) > 1 or (isinstance(error, BrokenExecutor) and not alone):
                    suspects += [[one] for one in chunk]
                else:
                    yield chunk[0][0], self._lost(chunk[0][1], error)

    def _send(self, chunk: list[Numbered]) -> None:
        try:
            cases = self.transport.pack([(case, self._known(case)) for _, case in chunk])
        except Exception as error:  # of one of the cases, which is then alone to blame
            lost: Future[bytes] = Future()
            lost.set_exception(error)
            self.out[lost] = chunk
            return
        if isinstance(self.executor, Workers):
            limit = self.options.of(chunk[0][1]).timeout  # a chunk is one case where there is any
            self.out[self.executor.submit_within(limit, check_chunk, self.settings, cases)] = chunk
            return
        try:
            future = self.executor.submit(check_chunk, self.settings, cases)
        except BrokenExecutor:
            self.executor.shutdown(wait=False)
            self.executor = self.plan.make()
            future = self.executor.submit(check_chunk, self.settings, cases)
        self.out[future] = chunk

    def _answered(self, answer: bytes, chunk: list[Numbered]) -> Iterator[tuple[int, CaseResult]]:
        found = Transport(_CasesAndEngines([case for _, case in chunk], self.engines)).unpack(answer)
        for (place, case), (result, learned) in zip(chunk, found, strict=True):
            if self.plan.answers is not None:
                self.plan.answers.learn(case, learned)
            yield place, result

    def _known(self, case: Case) -> Known | None:
        return None if self.plan.answers is None else self.plan.answers.about(case)

    def _lost(self, case: Case, error: BaseException) -> CaseResult:
        found = replace(broken(case, self.options.of(case), error), seconds=getattr(error, "seconds", 0.0))
        if not isinstance(error, ProcessEnded):
            return found
        ended = replace(found.errors[0], message=fact("process_ended", text=str(error)), hint=_hint(error), details="")
        return replace(found, errors=(ended,))


def _hint(error: ProcessEnded) -> str:
    return _KILLED if error.code < 0 else _EXITED


class _CasesAndEngines(Sequence[Any]):
    """What a worker shares with us: its cases, and behind them the engines, which are made when they are asked for."""

    def __init__(self, cases: list[Case], engines: MakeEngines) -> None:
        self._cases, self._engines = cases, engines

    def __len__(self) -> int:
        return len(self._cases)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cases)

    def __getitem__(self, place: Any) -> Any:
        count = len(self._cases)
        return self._cases[place] if place < count else self._engines().every[place - count]


def _settings(options: Options, shared: Sequence[Any]) -> bytes:
    """What a worker must know of the run. Raises UsageError where an engine cannot be sent."""
    known = _bare(options.baseline)
    asked = replace(
        options, jobs=1, in_workers=False, executor=None, shrink=None, maxfail=None, baseline=known, cache=None
    )
    own = [engine for engine in (*options.engines, options.reference) if not isinstance(engine, str)]
    try:
        if not shared and any(type(engine).__module__ == "__main__" for engine in own):
            raise TypeError("it is defined in the program itself")
        return Transport(shared).pack((asked, shared[0] if shared else None, may_recall(options)))
    except Exception as error:
        hint = "name it as FILE.py:CLASS, or PACKAGE.MODULE:CLASS"
        raise UsageError(f"an engine cannot be sent to another process: {text_of(error)}", hint=hint) from error


def _bare(known: Baseline | None) -> Baseline | None:
    """Whether drift is measured, which is all that a worker needs of it."""
    return None if known is None else Baseline(known.file, measured=known.measured)


# In a worker ------------------------------------------------------------------------------------------

#: Cases change settings of libraries: in one process there is never more than one at a time, whoever calls.
_ALONE = threading.Lock()
#: The settings that were read last, and what they came to.
_last: tuple[bytes, Options, Engines] | None = None


def make_ready(settings: bytes) -> None:
    """Load what every case needs, so that it costs none of them its time."""
    with _ALONE:
        _known(settings)


def check_chunk(settings: bytes, cases: bytes) -> bytes:
    """The results of some cases, each with what the reference was asked that was not known."""
    with _ALONE, reporting():
        options, engines = _known(settings)
        items = Transport(worker_processes.given).unpack(cases)
        check = checker(options, engines)
        with ready(options, engines):
            found = [recalling(engines, known, partial(check, case)) for case, known in items]
        return Transport([*(case for case, _ in items), *engines.every]).pack(found)


def _known(settings: bytes) -> tuple[Options, Engines]:
    global _last
    if _last is None or _last[0] != settings:
        options, engines, recalls = Transport(worker_processes.given).unpack(settings)
        _last = settings, options, engines or engines_with_memory(options, recalls)
    return _last[1], _last[2]
