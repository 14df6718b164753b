"""An executor of killable processes.

A deadline interrupts Python, but not a call into NumPy or torch, and a crash there ends all work of its process. So
each process runs one call at a time, is killed when it is late, and is then replaced.
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
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import connection, forkserver, get_all_start_methods, get_context
from multiprocessing import util as _util
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, cast

from gradcheck import forks
from gradcheck.checks.isolation import time_limit
from gradcheck.checks.isolation.time_limit import OutOfTime
from gradcheck.engines.library_imports import working_directory, working_elsewhere
from gradcheck.errors import exception_text
from gradcheck.forks import CRASH, end_fork, report_from_here
from gradcheck.safe_files import is_same

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Seconds beyond its limit after which a call is killed.
GRACE_SECONDS = 0.4
#: Libraries whose threads do not survive a fork.
THREADED = ("jax",)
#: Seconds between two checks that a silent process still exists.
_POLL_SECONDS = 0.5
#: Messages: once at the start; before a call; around uncounted time; between a call's end and its result.
_READY, _BEGINS, _PAUSES, _GOES_ON, _ENDS = b"ready", b"begins", b"pauses", b"goes on", b"ends"
#: Variables by which libraries limit their threads when they are loaded.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
#: Keeps the working directory out of `sys.path` while Python starts; the value marks it as ours.
_SAFE_PATH = ("PYTHONSAFEPATH", "gradcheck")

#: Processes are started one after another.
_START_LOCK = threading.Lock()
#: In a worker: the objects that it was given when it was started.
inherited_objects: Sequence[Any] = ()


Function = Callable[..., Any]


class ProcessStartError(RuntimeError):
    """No process can be started."""


class ProcessEnded(RuntimeError):
    """The process of a call ended; a negative `code` is a signal."""

    def __init__(self, text: str, seconds: float = 0.0, code: int = 0) -> None:
        super().__init__(text)
        self.seconds, self.code = seconds, code


def can_fork() -> bool:
    """Return whether a fork of this process can continue."""
    alone = threading.current_thread() is threading.main_thread()
    return sys.platform.startswith("linux") and alone and sys.modules.keys().isdisjoint(THREADED)


class LocalExecutor(Executor):
    """Processes of this machine, whose calls may have limits.

    A call raises OutOfTime over its limit, ProcessEnded if its process ends, ProcessStartError without a process,
    else what the function raises."""

    def submit(self, function: Function, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call. Raises as pickle does."""
        return self.submit_within(None, function, *args, **kwargs)

    @abstractmethod
    def submit_within(self, limit: float | None, function: Function, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call with a limit in seconds; None for no limit."""


class WorkerPool(LocalExecutor):
    """`number` processes, started when there is work for them.

    Each process is a fork of a fork server that has imported `preload`, with one thread for libraries. `first` is a
    function and its arguments, called in each new process outside of any call's time."""

    def __init__(self, number: int, *, preload: Sequence[str] = (), first: tuple[Any, ...] | None = None) -> None:
        self._first_call = None if first is None else pickle_call(*first)
        self._context: Any = get_context(_method())
        start_fork_server(preload)
        self._tasks: queue.SimpleQueue[tuple[Future[Any], bytes, float | None] | None] = queue.SimpleQueue()
        self._processes: dict[int, WorkerProcess] = {}
        self._is_shut_down = self._killed = False
        self._threads = [threading.Thread(target=self._run_tasks, args=(one,), daemon=True) for one in range(number)]
        for thread in self._threads:
            thread.start()

    def submit_within(self, limit: float | None, function: Function, /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._is_shut_down:
            raise RuntimeError("these workers were shut down")
        future: Future[Any] = Future()
        self._tasks.put((future, pickle_call(function, *args, **kwargs), limit))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Finish all calls; with `cancel_futures`, kill them at once."""
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
        """Serve one process, in a thread of its own."""
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

    def _process(self, number: int) -> WorkerProcess:
        """Return the current or a new process. Raises ProcessEnded after a kill."""
        is_new = number not in self._processes
        if is_new:
            self._processes[number] = WorkerProcess(self._context, ())
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
    """Start the fork server, if none runs, and preload these modules."""
    if _method() == "forkserver":
        with python_environment(dict.fromkeys(_THREADS, "1")), working_elsewhere():  # its forks return to the folder
            get_context("forkserver").set_forkserver_preload(list(preload))
            forkserver.ensure_running()


def _method() -> str:
    return "forkserver" if "forkserver" in get_all_start_methods() else "spawn"


@contextmanager
def python_environment(settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[None]:
    """Start Python in the block with these variables and a safe path."""
    if not os.environ.get(_SAFE_PATH[0]):  # that of the user, or of --isolated, stays
        settings = {**settings, **dict([_SAFE_PATH])}
    known, util = {name: os.environ.get(name) for name in settings}, cast(Any, _util)
    flags = util._args_from_interpreter_flags
    os.environ.update(settings)
    util._args_from_interpreter_flags = lambda: ["-P", *flags()]  # processes of `python -E` read no variable
    try:
        yield
    finally:
        util._args_from_interpreter_flags = flags
        for name, value in known.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def leave_safe_path() -> None:
    """Have processes that an engine starts find modules as always."""
    if os.environ.get(_SAFE_PATH[0]) == _SAFE_PATH[1]:
        del os.environ[_SAFE_PATH[0]]


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main module, which a new process would run again."""
    with _START_LOCK:
        known = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = known


class WorkerProcess:
    """One process, which runs one call at a time."""

    def __init__(self, context: Any, given: Sequence[Any]) -> None:
        self._pipe, there = context.Pipe()
        theirs = self._pipe if context.get_start_method() == "fork" else None  # a fork has this end too
        places = there, theirs, working_directory()
        self._process = context.Process(target=_serve, args=(*places, given), daemon=True)
        try:
            with _without_main(), python_environment(), warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # threads of libraries are not forked
                self._process.start()
            there.close()
            self._pipe.recv_bytes()
        except (EOFError, OSError) as error:
            raise ProcessStartError(f"{type(error).__name__}: {error}") from error

    def answer(self, call: bytes, limit: float | None) -> tuple[bool, Any]:
        """Return whether it returned, and what. Raises ProcessEnded, OutOfTime."""
        start = time.monotonic()
        try:
            self._pipe.send_bytes(call)
            self._receive(None)  # the start; time before it does not count
            start = time.monotonic()
            message = b""
            while message != _ENDS:
                message = self._receive(None if limit is None or message == _PAUSES else limit)
            answer: tuple[bool, Any] = pickle.loads(self._receive(None))
            return answer
        except (EOFError, OSError):
            code = self._exit_code()
            how = f"by the signal {signal.Signals(-code).name}" if code < 0 else f"with the exit code {code}"
            raise ProcessEnded(how, time.monotonic() - start, code) from None

    def _receive(self, limit: float | None) -> bytes:
        """Return the next message. Raises OutOfTime; EOFError if it is gone."""
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
        with suppress(OSError, AttributeError):  # Windows has no groups
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(OSError):
            self._process.kill()

    def end(self) -> None:
        """Kill the process and release its resources."""
        self.kill()
        self._exit_code()
        self._pipe.close()

    def _exit_code(self) -> int:
        while not self._is_gone():
            connection.wait([self._process.sentinel], _POLL_SECONDS)
        return int(self._process.exitcode)

    def _is_gone(self) -> bool:
        """Return whether it ended; starting a process polls all others too."""
        with _START_LOCK:
            return self._process.exitcode is not None


def pickle_call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> bytes:
    """Return a call as it is sent to a process. Raises as pickle does."""
    return pickle.dumps((function, args, kwargs))


def _serve(pipe: Connection, theirs: Connection | None, folder: str, inherited: Sequence[Any]) -> None:
    """Answer calls in a folder until the pipe closes."""
    global inherited_objects
    if folder and folder != os.getcwd():  # another thread of the parent may have been elsewhere
        os.chdir(folder)
    inherited_objects = inherited
    if theirs is not None:
        theirs.close()
    leave_safe_path()
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # so that its children can be killed too
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the parent
    gc.freeze()
    report_from_here()
    forks.give_up = partial(os._exit, CRASH)
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
    except (Exception, KeyboardInterrupt, GeneratorExit) as error:  # an exit ends the process, which is seen
        try:
            return pickle.dumps((False, error))
        except Exception:
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {exception_text(error)}")))


def call_inherited(place: int, *args: Any) -> Any:
    return inherited_objects[place](*args)
