"""Forks of the process that reports: they end where they come back, and no other process does."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from gradcheck.forks import CRASH, end_fork, reporting
from tests.from_text import case_of

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a system that can fork processes")

#: The exit code of a fork that did not end before.
ON = 9


def code_of_fork(action: Callable[[], object]) -> int:
    """Return the exit code of a fork that goes on with this."""
    child = os.fork()
    if not child:
        try:
            action()
        finally:
            os._exit(ON)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_fork_ends_where_it_comes_back() -> None:
    with reporting():
        end_fork()
        assert code_of_fork(end_fork) == CRASH


def test_it_does_not_leave_the_block_whatever_is_raised() -> None:
    def forked() -> None:
        with suppress(ValueError), reporting():
            if not (child := os.fork()):
                raise ValueError
            os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    assert code_of_fork(forked) == CRASH


def test_outside_of_a_block_no_process_ends() -> None:
    with reporting():
        pass
    assert code_of_fork(end_fork) == ON


def test_a_fork_may_have_a_run_of_its_own() -> None:
    def run_there() -> None:
        with reporting():
            end_fork()

    with reporting():
        assert code_of_fork(run_there) == ON


def test_blocks_in_several_threads_end_in_any_order() -> None:
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        with reporting():
            inside.set()
            done.wait(60)

    thread = threading.Thread(target=other)
    with reporting():
        thread.start()
        inside.wait(60)
    done.set()
    thread.join()
    assert code_of_fork(end_fork) == ON


def test_a_run_in_a_program_comes_back_once() -> None:
    from gradcheck.checks.scheduling.run import run
    from gradcheck.engines.core import Core
    from gradcheck.language.problem import Problem

    class Forking(Core):
        name = "forking"
        child = -1

        def evaluate(self, problem: Problem, recorder: object = None) -> object:  # type: ignore[override]
            if self.child == -1:
                self.child = os.fork()
            return super().evaluate(problem)

    engine = Forking()
    result = run(case_of("inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}"), engines=[engine])
    if not engine.child:
        os._exit(ON)
    assert os.waitstatus_to_exitcode(os.waitpid(engine.child, 0)[1]) == CRASH
    assert [case.status for case in result.cases] == ["passed"]
