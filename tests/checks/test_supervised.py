"""Cases in a process that can be ended: what is late, what dies, and what comes back of all others."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.options import QUICK, Engines, Options, engines_of
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.checks.run import run
from gradcheck.checks.supervised import Transport, can_supervise
from gradcheck.engines.core import Core
from gradcheck.language.case import Case
from gradcheck.language.problem import Problem
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


def ran(happens: Callable[[], Any], timeout: float = 20.0, **options: Any) -> RunResult:
    return run(CASES, engines=[Odd(happens)], timeout=timeout, **options)


def in_one_call() -> None:
    """Seconds inside NumPy, where nothing interrupts."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    np.linalg.svd(np.random.default_rng(0).standard_normal((1500, 1500)))
    time.sleep(60)


def test_one_call_that_does_not_return_costs_its_case_alone() -> None:
    start = time.perf_counter()
    result = ran(in_one_call, timeout=1.0)
    assert [case.status for case in result.cases] == ["passed", "crashed", "passed"]
    late = result.cases[1]
    assert late.errors[0].kind == "timeout"
    assert 1.0 <= late.seconds < 2.0
    assert time.perf_counter() - start < 40


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
    result = ran(lambda: os._exit(1), maxfail=1)
    assert [case.name for case in result.cases] == ["first", "second"]
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_an_interrupt_ends_it_and_keeps_what_was_done() -> None:
    parent = os.getpid()

    def interrupts() -> None:
        time.sleep(1.0)  # until the first result has been heard
        os.kill(parent, signal.SIGINT)
        time.sleep(60)

    result = ran(interrupts)
    assert result.interrupted
    assert [case.name for case in result.cases] == ["first"]


@pytest.mark.parametrize("options", [{}, {"mode": "both", "order": 2, "oracle": "numeric", "power": True}])
def test_results_are_those_of_a_run_without_a_limit(options: Any) -> None:
    work = [*CASES, WRONG]
    here, there = run(work, **options), run(work, timeout=60.0, **options)
    assert [strip(case) for case in there.cases] == [strip(case) for case in here.cases]


def strip(case: CaseResult) -> Any:
    return case.id, case.status, case.comparisons, case.errors, case.incomplete, case.power


def test_what_is_found_can_still_be_made_smaller(with_rules: Any) -> None:
    with_rules("exp", lambda g, y, x: g * y * 2)
    result = run([WRONG], timeout=60.0, shrink=QUICK)
    assert result.cases[0].smallest is not None


def test_what_both_processes_have_is_not_copied(with_rules: Any) -> None:
    with_rules("exp", lambda g, y, x: g * y * 2)
    engines = engines_of(Options())
    (found,) = run([WRONG]).cases
    wrong = next(c.operation for c in found.comparisons if c.operation is not None)
    transport = Transport([WRONG], Engines((wrong.engine,), engines.reference))
    back = transport.unpack(transport.pack(found))
    again = next(c.operation for c in back.comparisons if c.operation is not None)
    assert again.engine is wrong.engine
    assert again.application.op is wrong.application.op
    problems = [c.trial.problem for c in back.comparisons if c.trial is not None]
    assert all(problem is not None and isinstance(problem.case, Case) for problem in problems)


def test_only_the_main_thread_can_wait_for_it() -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(can_supervise()))
    thread.start()
    thread.join()
    assert found == [False]
