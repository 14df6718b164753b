"""A process that supervises a command, whose early end is never a success.

An engine may end its process in the middle of a run, by `os._exit(0)` for one, with nothing reported and the exit code
of success; a numerical library may crash. So a command that checks cases continues in a fork, which reports at its end
that it finished, and its exit code. The first process waits for that. (Linux; elsewhere a command runs on its own.)
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import click

from gradcheck import forks
from gradcheck.cli.options import engine_names
from gradcheck.cli.output import reserve_stdout, write_stderr
from gradcheck.engines.registry import ENGINES
from gradcheck.forks import CRASH, end_fork, report_from_here
from gradcheck.safe_files import is_same

#: Options of Linux's `prctl`, from sys/prctl.h: a process ends with its parent; it becomes the parent of what its
#: descendants leave behind.
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
#: The most rounds of ending processes, each of which may reveal further children.
_ROUNDS = 100


@dataclass(slots=True)
class CommandProcess:
    """A process that runs one command only; the outermost context's object.

    `package_digest` is the digest of gradcheck's own files, from before they were imported. With `may_fork`, the
    process may continue in a fork, where `result_pipe` takes the exit code after `token`, which no engine writes, while
    it is still the file `pipe_file`.
    """

    package_digest: str | None = None
    may_fork: bool = False
    result_pipe: int | None = None
    pipe_file: os.stat_result | None = None
    token: bytes = b""

    def report_exit_code(self, code: int) -> None:
        """Report to the supervising process that the command finished."""
        end_fork()
        if self.result_pipe is not None and self.pipe_file is not None and is_same(self.result_pipe, self.pipe_file):
            os.write(self.result_pipe, self.token + bytes([code]))
            os.close(self.result_pipe)
            self.result_pipe = None


def runs_foreign_code(*choices: Mapping[str, Any]) -> bool:
    """Return whether these choices, of a run and its overrides, run user code."""
    return any(some.get("allow_code") or some.get("executor") or not _always_return(some) for some in choices)


def _always_return(choices: Mapping[str, Any]) -> bool:
    return all(name in ENGINES and ENGINES[name].always_returns for name in engine_names(choices))


def supervise(*, again: bool) -> bool:
    """Continue in a supervised fork, if possible; reserve the standard output."""
    # With `again`, a process that ends early is followed by another one, in which this returns True.
    own = _own_process()
    if own is None:
        return False
    is_second = own.may_fork and sys.platform.startswith("linux") and _run_in_fork(own, again)
    report_from_here()
    reserve_stdout()
    return is_second


def reserve_own_stdout() -> None:
    """Reserve the standard output of a process that runs one command only."""
    if _own_process() is not None:
        reserve_stdout()


def _own_process() -> CommandProcess | None:
    own = click.get_current_context().find_root().obj
    return own if isinstance(own, CommandProcess) else None


def _run_in_fork(own: CommandProcess, again: bool) -> bool:
    """Return in a fork, whether it is the second; the parent exits later."""
    attempt = 0
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    while True:
        read, write = os.pipe()
        own.token = os.urandom(16)
        parent = os.getpid()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # NumPy's threads are still idle
            child = os.fork()
        if not child:
            os.close(read)
            _end_with_parent(parent)
            own.result_pipe, own.pipe_file, own.may_fork = write, os.fstat(write), False
            forks.give_up = partial(os._exit, CRASH) if again else None
            return attempt > 0
        os.close(write)
        fate, told = _watch(child), _read_exit_code(read, own.token)
        if told is not None:
            _exit_at_once(told)
        if fate.was_sent:
            _exit_at_once(128 + fate.signal)  # as a shell reports it
        again = again and not attempt
        more = "; every case is checked again, in a process of its own" if again else ""
        write_stderr(f"gradcheck: the process has ended {fate} before its report was written{more}")
        if not again:
            _exit_at_once(CRASH)
        attempt += 1


def _read_exit_code(pipe: int, token: bytes) -> int | None:
    """Return the exit code reported after the token; None if there is none."""
    # other processes may hold the pipe open
    os.set_blocking(pipe, False)
    with open(pipe, "rb", buffering=0) as stream:
        found = (stream.read() or b"").partition(token)[2]  # an engine may have written to the pipe, too
    return found[0] if found else None


@dataclass(frozen=True, slots=True)
class _Fate:
    """The end of a process: by a signal, or (0) with an exit code.

    `was_sent` is set if this process was sent that signal, as by `timeout` or a supervisor of services."""

    signal: int
    code: int
    was_sent: bool

    def __str__(self) -> str:
        return f"by the signal {signal.Signals(self.signal).name}" if self.signal else f"with the exit code {self.code}"


def _watch(child: int) -> _Fate:
    """Wait for a process, and return how it ended; forward signals."""
    sent: set[int] = set()

    def hand_on(number: int, frame: object) -> None:
        sent.add(number)
        if number != signal.SIGINT or not _is_foreground():
            os.kill(child, number)

    names = (*_FORWARDED, "SIGINT")
    known = {name: signal.signal(getattr(signal, name), hand_on) for name in names}
    try:
        _, status = os.waitpid(child, 0)
    finally:
        for name, handler in known.items():
            signal.signal(getattr(signal, name), handler)
    code = os.waitstatus_to_exitcode(status)
    return _Fate(max(-code, 0), code, -code in sent)


def _is_foreground() -> bool:
    """Return whether a terminal sends this process what is typed there."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _end_with_parent(parent: int) -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(CRASH)


def _prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _exit_at_once(code: int) -> NoReturn:
    """Exit at once; exit handlers ran in the fork, or are lost."""
    # processes that user code left behind end, too: a reader of this process's output would wait for them
    for _ in range(_ROUNDS):
        left = _children()
        if not left:
            break
        for process in left:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
    os._exit(code)


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except (OSError, ValueError):
        return []
