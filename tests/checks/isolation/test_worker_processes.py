"""Calls in processes that can be ended: what is late, what dies, what is raised; a run's cases under a time limit."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.isolation import time_limit
from gradcheck.checks.isolation.worker_processes import (
    ProcessEnded,
    WorkerPool,
    WorkerProcess,
    can_fork,
)
from gradcheck.checks.options import QUICK
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.checks.scheduling.run import run
from gradcheck.engines.core import Core
from gradcheck.engines.library_imports import working_elsewhere
from gradcheck.language.problem import Problem
from tests.conftest import FOREVER
from tests.from_text import case_of

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked on Linux alone")

NAMES = ("first", "second", "third")
CASES = [case_of(f"name: {name}\ninputs: {{x: [1, 2]}}\ngraph: {{y: (x * x).sum()}}") for name in NAMES]
WRONG = case_of(
    """
    dims: {n: 3}
    inputs: {x: "randn(n)"}
    graph: {y: exp(x), z: y.sum()}
    formulas: {x: y * y}
    """
)


class Odd(Core):
    """Does something else in the second case."""

    name = "odd"

    def __init__(self, happens: Callable[[], Any]) -> None:
        super().__init__()
        self.happens = happens

    def evaluate(self, problem: Problem, recorder: Any = None) -> Any:
        return self.happens() if problem.case.name == "second" else super().evaluate(problem, recorder)


def ran(happens: Callable[[], Any], timeout: float = 200.0, **options: Any) -> RunResult:
    return run(CASES, engines=[Odd(happens)], timeout=timeout, **options)


def in_one_call() -> None:
    """One call after the other into NumPy and the system, which nothing interrupts."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    np.linalg.svd(np.random.default_rng(0).standard_normal((300, 300)))
    time.sleep(FOREVER)


def test_one_call_that_does_not_return_costs_its_case_alone() -> None:
    result = ran(in_one_call, timeout=5.0)
    assert [case.status for case in result.cases] == ["passed", "crashed", "passed"]
    late = result.cases[1]
    assert late.errors[0].kind == "timeout"
    assert late.seconds >= 5.0


@pytest.mark.parametrize(
    ("happens", "text"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "by the signal SIGKILL"),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), "by the signal SIGTERM"),
        (lambda: os._exit(7), "with the exit code 7"),
    ],
)
def test_what_ends_the_process_costs_its_case_alone(happens: Callable[[], Any], text: str) -> None:
    result = ran(happens)
    assert [case.status for case in result.cases] == ["passed", "crashed", "passed"]
    (error,) = result.cases[1].errors
    assert (error.kind, error.message["text"]) == ("crash", text)


def test_a_run_that_stops_early_leaves_no_process() -> None:
    before = set(multiprocessing.active_children())
    result = ran(lambda: os._exit(1), maxfail=1)
    assert [case.name for case in result.cases] == ["first", "second"]
    assert set(multiprocessing.active_children()) <= before


def test_an_interrupt_ends_it_and_keeps_what_was_done() -> None:
    parent, heard = os.getpid(), multiprocessing.get_context("fork").Event()

    def interrupts() -> None:
        heard.wait()  # for the first result
        os.kill(parent, signal.SIGINT)
        time.sleep(FOREVER)

    result = ran(interrupts, on_result=lambda *_: heard.set())
    assert result.interrupted
    assert [case.name for case in result.cases] == ["first"]


@pytest.mark.parametrize("options", [{}, {"mode": "both", "order": 2, "oracle": "numeric", "power": True}])
def test_results_are_those_of_a_run_without_a_limit(options: Any) -> None:
    work = [*CASES, WRONG]
    here, there = run(work, **options), run(work, timeout=600.0, **options)
    assert [strip(case) for case in there.cases] == [strip(case) for case in here.cases]


def strip(case: CaseResult) -> Any:
    return case.id, case.status, case.comparisons, case.errors, case.incomplete, case.power


def test_what_is_found_can_still_be_made_smaller(with_rules: Any) -> None:
    with_rules("exp", lambda g, y, x: g * y * 2)
    result = run([WRONG], timeout=600.0, shrink=QUICK)
    assert result.cases[0].smallest is not None


def test_only_the_main_thread_can_wait_for_it() -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(can_fork()))
    thread.start()
    thread.join()
    assert found == [False]


@pytest.fixture(scope="module")
def workers() -> Iterator[WorkerPool]:
    """Two, of the server of forks."""
    with WorkerPool(2, preload=("gradcheck.checks.scheduling.parallel", "gradcheck.engines.torch")) as two:
        yield two


def test_calls_are_answered_and_errors_raised(workers: WorkerPool) -> None:
    first, second = workers.submit(divmod, 7, 2), workers.submit(divmod, 1, 0)
    assert first.result() == (3, 1)
    with pytest.raises(ZeroDivisionError):
        second.result()


def test_a_call_that_ends_its_process_costs_itself_alone(workers: WorkerPool) -> None:
    calls = [workers.submit(*call) for call in ((abs, -1), (os._exit, 3), (abs, -2), (os.abort,), (abs, -3))]
    assert [calls[place].result() for place in (0, 2, 4)] == [1, 2, 3]
    for place, text in ((1, "with the exit code 3"), (3, "by the signal SIGABRT")):
        with pytest.raises(ProcessEnded, match=text):
            calls[place].result()


def test_libraries_have_one_thread_in_a_worker(workers: WorkerPool) -> None:
    assert workers.submit(os.getenv, "OMP_NUM_THREADS").result() == "1"


def test_workers_that_are_sent_home_leave_their_work() -> None:
    workers = WorkerPool(1)
    begun, waiting = workers.submit(time.sleep, FOREVER), workers.submit(time.sleep, FOREVER)
    while not begun.running():
        time.sleep(0.01)
    workers.shutdown(cancel_futures=True)
    assert isinstance(begun.exception(), ProcessEnded)
    assert waiting.cancelled()
    with pytest.raises(RuntimeError):
        workers.submit(abs, 1)


def test_a_program_that_cannot_be_run_again_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "/nowhere/<stdin>", raising=False)
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    with WorkerPool(1) as worker:
        assert worker.submit(abs, -1).result() == 1


def print_nothing() -> None:
    """A task that only has to be imported."""


def pauses() -> str:
    with time_limit.pause_time_limit():
        time.sleep(2.0)
    return "done"


def test_what_is_loaded_late_is_waited_for() -> None:
    workers = WorkerPool(1)
    try:
        workers.submit(print_nothing).result()  # it imports this module, which takes long on a busy machine
        assert workers.submit_within(1.5, pauses).result() == "done"
    finally:
        workers.shutdown()


def test_a_process_that_starts_while_a_library_is_imported_works_in_the_folder() -> None:
    workers = WorkerPool(1)
    try:
        with working_elsewhere():
            found = workers.submit(os.getcwd).result()
        assert found == os.getcwd()
    finally:
        workers.shutdown()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_starts_a_server_of_its_own() -> None:
    """As `pytest --forked` makes one for every test."""
    with WorkerPool(1) as pool:
        assert pool.submit(abs, -1).result() == 1
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException), WorkerPool(1) as pool:
            os._exit(pool.submit(abs, -7).result())
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_system_without_groups_of_processes_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has neither `killpg` nor SIGKILL."""
    process = WorkerProcess(multiprocessing.get_context("spawn"), ())
    monkeypatch.delattr(os, "killpg")
    process.end()
    assert process._process.exitcode == -signal.SIGKILL
