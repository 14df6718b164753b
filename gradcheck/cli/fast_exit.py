"""Leaving without taking every module apart first, which is a tenth of what a command that runs nothing takes."""

from __future__ import annotations

import atexit
import os
import sys

#: Where an engine was called for, its libraries may count on Python's own way out; without NumPy, which imports the
#: other, there is little to take apart.
_NOT_WITH, _NOT_WITHOUT = "gradcheck.engines.resolve", "ctypes"
_immediate_exit_allowed: list[bool] = []


def register_fast_exit() -> list[int]:
    """A list for the code that the process is about to leave with: once it is there, the process leaves quickly.

    Only where nothing was registered before, since what is registered later comes first, and this comes last.
    """
    code: list[int] = []
    if os.name == "posix" and not getattr(atexit, "_ncallbacks", lambda: 1)():
        atexit.register(_exit_process, code)
    return code


def allow_immediate_exit() -> None:
    """No engine was called for but ours and torch, in no other process: nobody waits for what libraries do at the end,
    which takes torch longer than a small run."""
    _immediate_exit_allowed.append(True)


def _exit_process(code: list[int]) -> None:
    """Leave by the system's call, or by C's own `exit`, which does all but taking modules apart."""
    if not code or (not _immediate_exit_allowed and _NOT_WITH in sys.modules) or _NOT_WITHOUT not in sys.modules:
        return
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except (OSError, ValueError):  # which Python tells of in its own way
                return
    from ctypes import PyDLL

    if _immediate_exit_allowed:
        PyDLL(None).fflush(None)  # what C has printed
        os._exit(code[0])
    PyDLL(None).exit(code[0])
