"""Processes that work for this one, as an executor: a call that ends its process, or never ends, costs itself alone.

A deadline interrupts Python, but nothing interrupts one call into NumPy or torch; and where such a call brings its
process down, that process takes all other work with it. So each process has one call at a time, and whoever is late is
killed; the next call gets a new process.
"""

from __future__ import annotations

import gc
import os
import pickle
import queue
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from multiprocessing import connection, forkserver, get_all_start_methods, get_context
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from gradcheck.checks.isolation import time_limit
from gradcheck.checks.isolation.time_limit import OutOfTime
from gradcheck.errors import exception_text
from gradcheck.forks import CRASH, end_fork, report_from_here
from gradcheck.safe_files import is_same

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Seconds beyond its limit after which a call is no longer waited for.
GRACE_SECONDS = 0.4
#: Libraries whose threads do not survive a fork.
THREADED = ("jax",)
#: Seconds between two looks at whether a process is still there that sends nothing.
_POLL_SECONDS = 0.5
#: What is sent once, when calls can be taken; before a call; around what counts towards no limit; and between a call's
#: end and its result.
_READY, _BEGINS, _PAUSES, _GOES_ON, _ENDS = b"ready", b"begins", b"pauses", b"goes on", b"ends"
#: What libraries read when they are loaded, to know how many threads they may have.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
#: By which Python, while it starts, imports nothing from the working directory; and the value by which we know that it
#: is not the user's own setting.
_SAFE_PATH = ("PYTHONSAFEPATH", "gradcheck")

#: Processes are started one after another.
_START_LOCK = threading.Lock()
#: In a worker: what it was given when it was started.
inherited_objects: Sequence[Any] = ()


class ProcessStartError(RuntimeError):
    """No process can be had."""


class ProcessEnded(RuntimeError):
    """The process of a call is gone, so many seconds after the call began: by a signal if the exit code is negative, as
    of `multiprocessing`, else by an exit of its own."""

    def __init__(self, text: str, seconds: float = 0.0, code: int = 0) -> None:
        super().__init__(text)
        self.seconds, self.code = seconds, code


def can_fork() -> bool:
    """Whether a fork of this process can go on where it stands."""
    alone = threading.current_thread() is threading.main_thread()
    return sys.platform.startswith("linux") and alone and not any(name in sys.modules for name in THREADED)


class WorkerPool(Executor):
    """`number` processes, started when there is work for them. A call that takes longer than its limit raises
    OutOfTime, one that ends its process ProcessEnded, one that gets no process CannotStart; what a function raises is
    raised as usual.

    Each is a fork of a server of forks, which has imported `preload`, and lets libraries have one thread. With
    `forked` each is a fork of this very process instead, and finds that in `given`, whatever it is. A process makes
    itself ready by the call `first`, a function and its arguments, in no other call's time.
    """

    def __init__(
        self,
        number: int,
        *,
        preload: Sequence[str] = (),
        forked: Sequence[Any] | None = None,
        first: tuple[Any, ...] | None = None,
    ) -> None:
        self._inherited = forked or ()
        self._first_call = None if first is None else _pickle_call(*first)
        self._context: Any = get_context("fork" if forked is not None else _method())
        if forked is None:
            start_fork_server(preload)
        self._tasks: queue.SimpleQueue[tuple[Future[Any], bytes, float | None] | None] = queue.SimpleQueue()
        self._processes: dict[int, _Process] = {}
        self._is_shut_down = self._killed = False
        self._threads = [threading.Thread(target=self._run_tasks, args=(one,), daemon=True) for one in range(number)]
        for thread in self._threads:
            thread.start()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Raises what pickle does where a function or an argument cannot be sent."""
        return self.submit_within(None, function, *args, **kwargs)

    def submit_within(
        self, limit: float | None, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """The same, of a call that may take so many seconds; None for no limit."""
        if self._is_shut_down:
            raise RuntimeError("these workers have been sent home")
        future: Future[Any] = Future()
        self._tasks.put((future, _pickle_call(function, *args, **kwargs), limit))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """After what was submitted is done; with `cancel_futures` at once, whatever they do."""
        self._is_shut_down = True
        if cancel_futures:
            self._killed = True
            with suppress(queue.Empty):
                while task := self._tasks.get_nowait():
                    task[0].cancel()
            for process in list(self._processes.values()):
                process.kill()
        for _ in self._threads:
            self._tasks.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _run_tasks(self, number: int) -> None:
        """What one thread here does for one process there."""
        try:
            while task := self._tasks.get():
                future, call, limit = task
                if not future.set_running_or_notify_cancel():
                    continue
                try:
                    right, found = self._process(number).answer(call, limit)
                except BaseException as error:
                    self._end(number)
                    future.set_exception(error)
                else:
                    (future.set_result if right else future.set_exception)(found)
        finally:
            self._end(number)

    def _process(self, number: int) -> _Process:
        """The one that is there, or a new one. Raises ProcessEnded where none is wanted any more, and what the first
        call raises."""
        is_new = number not in self._processes
        if is_new:
            self._processes[number] = _Process(self._context, self._inherited)
        if self._killed:
            raise ProcessEnded("before it began")
        process = self._processes[number]
        if is_new and self._first_call is not None:
            right, found = process.answer(self._first_call, None)
            if not right:
                raise found
        return process

    def _end(self, number: int) -> None:
        process = self._processes.pop(number, None)
        if process is not None:
            process.end()


def start_fork_server(preload: Sequence[str]) -> None:
    """Start the server, if there is none yet, which imports these modules meanwhile."""
    if _method() == "forkserver":
        with _environment(dict.fromkeys(_THREADS, "1")):
            get_context("forkserver").set_forkserver_preload(list(preload))
            forkserver.ensure_running()


def _method() -> str:
    return "forkserver" if "forkserver" in get_all_start_methods() else "spawn"


@contextmanager
def _environment(settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[None]:
    """Start Python in the block with these variables, and without the working directory among what it imports from."""
    settings = {**settings, **dict([_SAFE_PATH])}
    known = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in known.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


@contextmanager
def _without_main() -> Iterator[None]:
    """A new process would run the program's main module again, which it does not need, and which may not be there."""
    with _START_LOCK:
        known = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = known


class _Process:
    """A process that answers calls in turn, as long as somebody listens."""

    def __init__(self, context: Any, given: Sequence[Any]) -> None:
        self._pipe, there = context.Pipe()
        theirs = self._pipe if context.get_start_method() == "fork" else None  # which a fork has, too
        self._process = context.Process(target=_serve, args=(there, theirs, given), daemon=True)
        try:
            with _without_main(), _environment(), warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # that threads of libraries are not forked is known
                self._process.start()
            there.close()
            self._pipe.recv_bytes()
        except (EOFError, OSError) as error:
            raise ProcessStartError(f"{type(error).__name__}: {error}") from error

    def answer(self, call: bytes, limit: float | None) -> tuple[bool, Any]:
        """Whether the function returned, and what it returned or raised. Raises ProcessEnded, and OutOfTime where that
        does not come in time."""
        start = time.monotonic()
        try:
            self._pipe.send_bytes(call)
            self._receive(None)  # that it begins: what it did before was done in no call's time
            start = time.monotonic()
            told = b""
            while told != _ENDS:
                told = self._receive(None if limit is None or told == _PAUSES else limit)
            answer: tuple[bool, Any] = pickle.loads(self._receive(None))
            return answer
        except (EOFError, OSError):
            code = self._exit_code()
            raise ProcessEnded(_exit_description(code), time.monotonic() - start, code) from None

    def _receive(self, limit: float | None) -> bytes:
        """Return what the process sends next. Raises OutOfTime where that takes longer than the limit and its grace,
        EOFError where the process is gone, though something that it has started may hold the pipe open."""
        end = None if limit is None else time.monotonic() + limit + GRACE_SECONDS
        while not self._pipe.poll(
            _POLL_SECONDS if end is None else min(_POLL_SECONDS, max(end - time.monotonic(), 0.0))
        ):
            if limit is not None and end is not None and time.monotonic() >= end:
                raise OutOfTime(limit)
            if self._is_gone() and not self._pipe.poll(0):
                raise EOFError
        received: bytes = self._pipe.recv_bytes()
        return received

    def kill(self) -> None:
        """End it and all that it has started, at once, whatever they do."""
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(OSError):
            self._process.kill()

    def end(self) -> None:
        """The same, and leave nothing of it."""
        self.kill()
        self._exit_code()
        self._pipe.close()

    def _exit_code(self) -> int:
        """Wait until the process is gone, and return its exit code."""
        while not self._is_gone():
            connection.wait([self._process.sentinel], _POLL_SECONDS)
        return int(self._process.exitcode)

    def _is_gone(self) -> bool:
        """Whoever starts a process reads what became of all others, too; only one of two gets it."""
        with _START_LOCK:
            return self._process.exitcode is not None


def _exit_description(code: int) -> str:
    return f"by the signal {signal.Signals(-code).name}" if code < 0 else f"with the exit code {code}"


def _pickle_call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> bytes:
    return pickle.dumps((function, args, kwargs))


def _serve(pipe: Connection, theirs: Connection | None, inherited: Sequence[Any]) -> None:
    """Answer every call, until nobody listens any more."""
    global inherited_objects
    inherited_objects = inherited
    if theirs is not None:
        theirs.close()
    if os.environ.get(_SAFE_PATH[0]) == _SAFE_PATH[1]:
        del os.environ[_SAFE_PATH[0]]  # what somebody's engine starts is none of our business
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # so that it can be ended with all that somebody's code has started
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for those who wait
    gc.freeze()
    report_from_here()
    known = os.fstat(pipe.fileno()) if os.name == "posix" else None

    def send(message: bytes) -> None:
        end_fork()  # of two processes at one pipe, each would get calls of the other
        if known is not None and not is_same(pipe.fileno(), known):  # another file has its number
            os._exit(CRASH)
        pipe.send_bytes(message)

    time_limit.report_counting = lambda counts: send(_GOES_ON if counts else _PAUSES)
    with suppress(EOFError, ConnectionError):
        send(_READY)
        while True:
            call = pipe.recv_bytes()
            send(_BEGINS)
            answer = _run_call(call)
            send(_ENDS)
            send(answer)


def _run_call(call: bytes) -> bytes:
    try:
        function, args, kwargs = pickle.loads(call)
        return pickle.dumps((True, function(*args, **kwargs)))
    except Exception as error:
        try:
            return pickle.dumps((False, error))
        except Exception:
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {exception_text(error)}")))


def call_inherited(place: int, *args: Any) -> Any:
    """In a worker that is a fork: call one of the functions that it was given."""
    return inherited_objects[place](*args)
