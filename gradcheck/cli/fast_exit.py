"""Fast exit: skip taking modules apart, a tenth of a short command's time."""

from __future__ import annotations

import atexit
import os
import sys

#: Libraries of an engine may need Python's own exit; without NumPy, which imports
#: ctypes, there is little to take apart.
_NOT_WITH, _NOT_WITHOUT = "gradcheck.engines.resolve", "ctypes"
_immediate_exit_allowed: list[bool] = []


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
