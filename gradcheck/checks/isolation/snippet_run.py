"""Run a Python snippet in a fresh process, and return what it prints."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.checks.isolation.time_limit import OutOfTime
from gradcheck.checks.isolation.worker_processes import ProcessEnded, ProcessStartError, WorkerPool
from gradcheck.engines.folder_finder import is_installed_file
from gradcheck.engines.library_imports import importing_elsewhere
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS, error_line

#: Seconds that a snippet may take.
SNIPPET_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class SnippetRun:
    """The arrays that a snippet printed, and its exception's line, or ""."""

    printed: tuple[np.ndarray, ...] = ()
    error: str = ""


def run_snippet(text: str) -> SnippetRun | None:
    """Run the text as a new program; None if it does not end, or cannot start.

    The process finds installed packages only; the working directory is not on its path."""
    pool = WorkerPool(1, preload=("torch", __name__))
    try:
        return pool.submit_within(SNIPPET_SECONDS, _run, text).result()  # type: ignore[no-any-return]
    except (OutOfTime, ProcessEnded, ProcessStartError, CancelledError, AssertionError):
        return None
    finally:
        pool.shutdown(cancel_futures=True)


def _run(text: str) -> SnippetRun:
    """Run the text in this process, which has no other use."""
    sys.path[:] = [place for place in sys.path if place and is_installed_file(os.path.join(place, ""))]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and not is_installed_file(file) and not name.startswith("gradcheck"):
            del sys.modules[name]
    printed: list[Any] = []
    names = {"__name__": "__main__", "print": lambda *values, **_: printed.extend(values)}
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        importing_elsewhere(),
    ):
        warnings.simplefilter("ignore")
        try:
            exec(compile(text, "<snippet>", "exec"), names)
        except USER_EXCEPTIONS as error:
            return SnippetRun(error=error_line(error))
        return SnippetRun(tuple(_arrays(printed)))


def _arrays(values: Any) -> list[np.ndarray]:
    """Return all arrays of numbers in nested values, in order."""
    if isinstance(values, Mapping):
        values = list(values.values())
    if isinstance(values, (list, tuple)):
        return [array for value in values for array in _arrays(value)]
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.double() if values.is_floating_point() else values
    array = np.asarray(values)
    return [array] if array.dtype.kind in "biufc" else []
