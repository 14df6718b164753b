"""An executor of one fork of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from multiprocessing import get_context
from typing import Any

from gradcheck.checks.isolation.worker_processes import LocalExecutor, WorkerProcess, pickle_call
from gradcheck.interrupts import Interrupt


class ForkedWorker(LocalExecutor):
    """A fork of this process, which inherits these objects.

    A call blocks, for the fork must be one of the thread that submits: code that was imported there may keep settings
    for that thread alone."""

    def __init__(self, inherited: Sequence[Any]) -> None:
        self._inherited = inherited
        self._process: WorkerProcess | None = None

    def submit_within(
        self, limit: float | None, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
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
