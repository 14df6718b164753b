"""A call in a fork: its result comes back, whatever else happens there does not."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from gradcheck.checks.isolation.fork_call import ForkedWorker, call_in_fork
from gradcheck.checks.isolation.time_limit import OutOfTime, deadline
from gradcheck.checks.isolation.worker_processes import ProcessEnded, ProcessStartError, call_inherited
from tests.checks.isolation.test_worker_processes import in_one_call

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks are made on Linux alone")


def test_the_result_comes_back_and_nothing_else_changes() -> None:
    kept = [1]

    def changes() -> tuple[list[int], np.ndarray]:
        kept.append(2)
        return kept, np.zeros(100_000)

    found, array = call_in_fork(changes)
    assert (found, array.shape, kept) == ([1, 2], (100_000,), [1])


@pytest.mark.parametrize("end", [lambda: os._exit(0), lambda: 1 / 0, lambda: sys.exit(0), lambda: lambda: 0])
def test_no_result_is_an_error(end: Callable[[], object]) -> None:
    """Nor is what cannot be sent."""
    with pytest.raises(ProcessEnded):
        call_in_fork(end)


def test_a_limit_around_it_ends_it() -> None:
    with pytest.raises(OutOfTime), deadline(0.05):
        call_in_fork(lambda: [None for _ in iter(int, 1)])


SLOW_HOOKS: list[float] = []
os.register_at_fork(after_in_parent=lambda: [time.sleep(seconds) for seconds in SLOW_HOOKS])


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_an_alarm_in_a_hook_of_the_fork_is_not_lost() -> None:
    """Python drops what is raised there, and a lock of `logging` would stay held."""
    SLOW_HOOKS.append(0.2)
    try:
        with pytest.raises(OutOfTime), deadline(0.05):
            call_in_fork(lambda: [None for _ in iter(int, 1)])
    finally:
        SLOW_HOOKS.clear()


def test_what_a_fork_was_given_is_not_sent() -> None:
    with ForkedWorker((lambda x: x + 1,)) as worker:
        assert worker.submit(call_inherited, 0, 2).result() == 3


def test_a_fork_has_the_settings_of_the_thread_that_submits() -> None:
    mode = threading.local()
    mode.enabled = True
    with ForkedWorker((lambda: mode.enabled,)) as worker:
        assert worker.submit(call_inherited, 0).result()
        assert isinstance(worker.submit(os._exit, 1).exception(), ProcessEnded)
        assert worker.submit(call_inherited, 0).result(), "a later fork"


def test_a_limit_holds_for_one_call_that_nothing_interrupts() -> None:
    begun = multiprocessing.get_context("fork").Event()

    def one_long_call() -> None:
        begun.set()
        in_one_call()

    with ForkedWorker((one_long_call,)) as worker:
        error = worker.submit_within(0.3, call_inherited, 0).exception()
    assert isinstance(error, OutOfTime)
    assert begun.is_set()


def test_a_process_that_cannot_be_had_is_no_fault_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradcheck.checks.isolation.worker_processes._serve", os._exit)
    with ForkedWorker(()) as worker, pytest.raises(ProcessStartError):
        worker.submit(abs, -1).result()
