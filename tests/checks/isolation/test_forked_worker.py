"""A fork of this process that answers calls, and can be ended."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading

import pytest

from gradcheck.checks.isolation.forked_worker import ForkedWorker
from gradcheck.checks.isolation.time_limit import OutOfTime
from gradcheck.checks.isolation.worker_processes import ProcessEnded, ProcessStartError, call_inherited
from tests.checks.isolation.test_worker_processes import in_one_call

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked on Linux alone")


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
