"""Forks that an engine makes of a run: they end on return to gradcheck.

Both processes of an `os.fork()` continue, and both would check the rest and write a report, to one pipe or file. A fork
that does work of its own and ends by itself, such as one of `multiprocessing`, never returns here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: The exit code of a fork that ends here, and of a command that did not finish.
CRASH = 3

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
