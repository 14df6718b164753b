"""Leaving without taking every module apart first, which takes Python as long as a case file takes to read."""

from __future__ import annotations

import atexit
import os
import sys

#: Where an engine was called for, its libraries may count on Python's own way out; without NumPy, which imports the
#: other, there is little to take apart.
_NOT_WITH, _NOT_WITHOUT = "gradcheck.engines.resolve", "ctypes"


def leaving() -> list[int]:
    """A list for the code that the process is about to leave with: once it is there, the process leaves quickly.

    Only where nothing was registered before, since what is registered later comes first, and this comes last.
    """
    code: list[int] = []
    if os.name == "posix" and not getattr(atexit, "_ncallbacks", lambda: 1)():
        atexit.register(_leave, code)
    return code


def _leave(code: list[int]) -> None:
    """Leave by C's own `exit`, which does all but that."""
    if not code or _NOT_WITH in sys.modules or _NOT_WITHOUT not in sys.modules:
        return
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except (OSError, ValueError):  # which Python tells of in its own way
                return
    from ctypes import PyDLL

    PyDLL(None).exit(code[0])
