"""Forks that an engine makes of a run: they end on return to gradcheck.

Both processes of an `os.fork()` continue, and both would check the rest and write a report, to one pipe or file. A fork
that does work of its own and ends by itself, such as one of `multiprocessing`, never returns here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: The exit code of a fork that ends here, and of a command that did not finish.
CRASH = 3

#: Ends a process whose code swallows every interruption at its time limit; None if nobody would notice.
give_up: Callable[[], object] | None = None

#: The process that reports; of each thread, since a program may run cases in several.
_reporting: ContextVar[int | None] = ContextVar("_reporting", default=None)


def report_from_here() -> None:
    """Make this process the one that reports what this thread finds."""
    _reporting.set(os.getpid())


@contextmanager
def reporting() -> Iterator[None]:
    """Make this process the one that reports; no fork of it leaves the block."""
    token = _reporting.set(os.getpid())
    try:
        yield
    finally:
        end_fork()
        _reporting.reset(token)


def end_fork() -> None:
    """End this process if it is a fork of the reporting one."""
    process = _reporting.get()
    if process is not None and process != os.getpid():
        os._exit(CRASH)


def _forget_fork_server() -> None:
    """Let a fork start its own server: it cannot wait for one of its parent."""
    server: Any = getattr(sys.modules.get("multiprocessing.forkserver"), "_forkserver", None)
    if server is not None and server._forkserver_pid is not None:
        os.close(server._forkserver_alive_fd)
        server._forkserver_address = server._forkserver_alive_fd = server._forkserver_pid = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_fork_server)
