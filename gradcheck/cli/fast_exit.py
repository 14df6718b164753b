"""Fast exit: skip taking modules apart, a tenth of a short command's time.

Threads, processes and exit handlers of an engine that never end do not keep the command from its exit either.
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
#: Seconds that an engine's threads and processes have to end, threads of killed processes, and exit handlers.
_GRACE, _AFTER_KILL, _HANDLERS = 5.0, 1.0, 5.0
#: The most threads and processes that are named.
_MOST_NAMED = 5


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
    if not _immediate_exit_allowed:
        handlers_run = threading.Event()
        atexit.register(handlers_run.set)
        threading.Thread(target=_end_what_is_left, args=(code, handlers_run), daemon=True).start()


def _end_what_is_left(code: int, handlers_run: threading.Event) -> None:
    threading.Event().wait(_GRACE)
    from gradcheck.cli.output import write_stderr  # here, since gradcheck's files are read before they are imported

    left = _unfinished()
    if left:
        names = ", ".join(one.name for one in left[:_MOST_NAMED])
        write_stderr(f"gradcheck: exits without waiting for {names}, which an engine has started")
    for process in left:
        if not isinstance(process, threading.Thread):
            process.kill()
    if left and not handlers_run.wait(_AFTER_KILL):
        atexit._run_exitfuncs()
    else:
        threading.Event().wait(_HANDLERS)  # the process has usually ended by then
        write_stderr("gradcheck: exits without waiting for exit handlers, which an engine has registered")
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    os._exit(code)


def _unfinished() -> list[Any]:
    """Return the threads and processes that Python waits for at its exit."""
    library = sys.modules.get("multiprocessing")
    found = [*threading.enumerate(), *(library.active_children() if library is not None else ())]
    return [one for one in found if not one.daemon and one is not threading.main_thread()]
