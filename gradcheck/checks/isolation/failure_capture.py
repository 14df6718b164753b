"""Collect warnings; turn exceptions into failures, and lose no verdict."""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePath
from typing import Any, Literal

from gradcheck.checks.isolation.time_limit import OutOfTime
from gradcheck.checks.result import Failure
from gradcheck.errors import Place, exception_text
from gradcheck.facts import Fact, fact
from gradcheck.forks import end_fork
from gradcheck.interrupts import Interrupt
from gradcheck.tracebacks import format_traceback

#: The frames kept of a traceback, from its end.
_FRAMES = 20
#: The C++ location in a warning of torch, which helps no user.
_INTERNAL = re.compile(r"\s*\(Triggered internally at [^)]*\)\.?")
#: The most warnings that are kept of a case, and characters of each.
_MOST, _MOST_CHARACTERS = 100, 1_000
#: Libraries, by a folder of their files; and folders that have it: a user's own may be called `autograd`.
_LIBRARIES = {"torch": "torch", "torch_nodes": "torch", "numpy": "NumPy", "jax": "JAX", "autograd": "HIPS autograd"}
_HOMES = ("gradcheck", "site-packages", "dist-packages")
#: What may fail beside the verdict of a case; each has a phrase.
Part = Literal["cause", "part", "suggestion", "counterexample", "smallest", "derived", "power", "report"]


def try_part(part: Part, look: Callable[[], object], lost: list[Failure]) -> bool:
    """Run a `part`; add its failure to `lost`. False if time is up."""
    try:
        look()
    except Interrupt:
        raise
    except BaseException as error:  # an engine's exit must not end this process
        found = failure_of(error)
        lost.append(replace(found, message=fact("not_found_out", part=part, why=found.message)))
        return not isinstance(error, OutOfTime)
    finally:
        end_fork()
    return True


def failure_of(error: BaseException, place: Place | None = None) -> Failure:
    """Return an unforeseen exception as a failure of a case."""
    at = place or Place()
    if isinstance(error, OutOfTime):
        return Failure("timeout", _out_of_time(error), at)
    if isinstance(error, MemoryError):
        gc.collect()
        return Failure("memory", fact("ran_out_of_memory", text=exception_text(error)), at)
    details = format_traceback(error, _FRAMES)  # for a bug report
    return Failure("crash", crash_of(error), at, "this is a bug in an engine or in gradcheck", details)


def _out_of_time(error: OutOfTime) -> Fact:
    for inside in getattr(error, "__notes__", ()):
        return fact("ran_out_of_time_inside", seconds=error.seconds, inside=inside)
    return fact("ran_out_of_time", seconds=error.seconds)


def crash_of(error: BaseException) -> Fact:
    """Return an unforeseen exception's type and first line."""
    lines = exception_text(error).splitlines()
    return fact("crashed", error=type(error).__name__, text=lines[0] if lines else "")


@contextmanager
def capture_warnings() -> Iterator[list[Fact]]:
    """Record every warning of the block once, as a fact; print none."""
    found: list[Fact] = []

    def record(message: Any, category: type[Warning], filename: str, *rest: Any, **further: Any) -> None:
        text = " ".join(_INTERNAL.sub("", str(message)).split())[:_MOST_CHARACTERS]
        one = fact("warned", by=_library(filename), text=text)
        if len(found) < _MOST and one not in found:
            found.append(one)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = record
        yield found


def _library(filename: str) -> str:
    """Return a file's library, or its name; `engines/torch.py` is torch's."""
    path = PurePath(filename)
    parts = [part.removesuffix(".py") for part in path.parts]
    at = max((n for n, part in enumerate(parts) if part in _HOMES), default=len(parts))
    return next((_LIBRARIES[part] for part in reversed(parts[at:]) if part in _LIBRARIES), path.name)
