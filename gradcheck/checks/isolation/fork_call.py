"""One call in a fork of this process, and an executor of one fork."""

from __future__ import annotations

import os
import pickle
import signal
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing import get_context
from typing import Any, NoReturn

from gradcheck.checks.isolation.time_limit import pause_time_limit
from gradcheck.checks.isolation.worker_processes import (
    Function,
    LocalExecutor,
    ProcessEnded,
    WorkerProcess,
    pickle_call,
)
from gradcheck.forks import CRASH, report_from_here
from gradcheck.interrupts import Interrupt


def call_in_fork(function: Callable[[], Any]) -> Any:
    """Return the function's result. Raises ProcessEnded without one.

    A fork inherits all objects, and worker processes, which cannot start others, can have one. It has no limit of time
    but that of the block around the call."""
    read, write = os.pipe()
    child = 0
    try:
        with pause_time_limit():  # in a hook of the fork its alarm would be lost
            child = _fork()
            if not child:
                os.close(read)
                _run(function, write)
        os.close(write)
        with open(read, "rb") as stream:
            answer = stream.read()
    finally:
        if child:
            _end(child)
    if not answer:
        raise ProcessEnded("without a result")
    return pickle.loads(answer)


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of libraries are not forked
        return os.fork()


def _run(function: Callable[[], Any], write: int) -> NoReturn:
    """Write the result, and end this process."""
    try:
        os.setpgid(0, 0)  # so that its children end with it
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the parent
        report_from_here()
        with open(write, "wb") as stream:
            stream.write(pickle.dumps(function()))
        os._exit(0)
    finally:  # the parent sees that there is no result
        os._exit(CRASH)


def _end(child: int) -> None:
    """Kill the fork and what it has started."""
    with suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    with suppress(OSError):
        os.kill(child, signal.SIGKILL)
    with suppress(OSError):
        os.waitpid(child, 0)


class ForkedWorker(LocalExecutor):
    """A fork of this process, which inherits these objects.

    A call blocks, for the fork must be one of the thread that submits: code that was imported there may keep settings
    for that thread alone."""

    def __init__(self, inherited: Sequence[Any]) -> None:
        self._inherited = inherited
        self._process: WorkerProcess | None = None

    def submit_within(self, limit: float | None, function: Function, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        call = pickle_call(function, *args, **kwargs)
        try:
            self._process = self._process or WorkerProcess(get_context("fork"), self._inherited)
            right, found = self._process.answer(call, limit)
        except BaseException as error:
            self.shutdown()
            if isinstance(error, (KeyboardInterrupt, Interrupt)):
                raise
            future.set_exception(error)
        else:
            (future.set_result if right else future.set_exception)(found)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Kill the process; no call is running."""
        process, self._process = self._process, None
        if process is not None:
            process.end()
