"""Fast exit: skip taking modules apart, a tenth of a short command's time.

Threads and processes that an engine started, and that never end, do not keep the command from its exit either.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from contextlib import suppress
from typing import Any

#: Libraries of an engine may need Python's own exit; without NumPy, which imports
#: ctypes, there is little to take apart.
_NOT_WITH, _NOT_WITHOUT = "gradcheck.engines.resolve", "ctypes"
_immediate_exit_allowed: list[bool] = []
#: Seconds that what an engine started has to end, after the report; and the most of it that is named.
_GRACE, _MOST_NAMED = 5.0, 5


def register_fast_exit() -> list[int]:
    """Return a list: once it holds an exit code, the process exits fast."""
    # what is registered later runs earlier, and this must run last
    code: list[int] = []
    if os.name == "posix" and not getattr(atexit, "_ncallbacks", lambda: 1)():
        atexit.register(_exit_process, code)
    return code


def allow_immediate_exit() -> None:
    """Allow skipping exit handlers of libraries, which takes torch long."""
    # only core and torch ran, in no other process: nothing waits for those handlers
    _immediate_exit_allowed.append(True)


def _exit_process(code: list[int]) -> None:
    """Exit by the system's call, or by C's `exit`; modules stay loaded."""
    if not code or (not _immediate_exit_allowed and _NOT_WITH in sys.modules) or _NOT_WITHOUT not in sys.modules:
        return
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except (OSError, ValueError):  # which Python itself reports
                return
    from ctypes import PyDLL

    if _immediate_exit_allowed:
        PyDLL(None).fflush(None)  # the output of C
        os._exit(code[0])
    PyDLL(None).exit(code[0])


def limit_exit(code: int) -> None:
    """Exit with the code soon, whatever threads and processes are left."""
    # Python waits for threads, then runs exit handlers, of which multiprocessing's waits for processes
    if _threads() or _processes():
        handlers_run = threading.Event()
        atexit.register(handlers_run.set)
        threading.Thread(target=_end_what_is_left, args=(code, handlers_run), daemon=True).start()


def _end_what_is_left(code: int, handlers_run: threading.Event) -> None:
    threading.Event().wait(_GRACE)
    processes, threads = _processes(), [] if handlers_run.is_set() else _threads()
    names = [f"the process {one.name}" for one in processes] + [f"the thread {_described(one)}" for one in threads]
    if not names:
        return
    from gradcheck.cli.output import write_stderr  # here, since gradcheck's files are read before they are imported

    more = ", …" if len(names) > _MOST_NAMED else ""
    write_stderr(f"gradcheck: exits without waiting for {', '.join(names[:_MOST_NAMED])}{more}")
    for process in processes:
        process.kill()
    if not handlers_run.wait(_GRACE if processes else 0):
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)


def _threads() -> list[threading.Thread]:
    """Return the threads that Python waits for at its exit."""
    own = threading.current_thread(), threading.main_thread()
    return [thread for thread in threading.enumerate() if not thread.daemon and thread not in own]


def _processes() -> list[Any]:
    """Return the processes that Python waits for at its exit."""
    library = sys.modules.get("multiprocessing")
    return [one for one in library.active_children() if not one.daemon] if library is not None else []


def _described(thread: threading.Thread) -> str:
    """Return a thread's name, and the line of its first own function."""
    frame, place = sys._current_frames().get(thread.ident or 0), ""
    while frame is not None:
        if frame.f_globals.get("__name__") not in ("threading", "concurrent.futures.thread"):
            place = f" at {frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return f"{thread.name}{place}"
