"""What libraries warn of while a case is checked: it belongs to that case, and not between the lines of a report."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

from gradcheck.facts import Fact, fact

#: Where in C++ a warning of torch's comes from, which helps nobody here.
_INTERNAL = re.compile(r"\s*\(Triggered internally at [^)]*\)\.?")
#: Names of libraries by a folder that their files are in.
_LIBRARIES = {"torch": "torch", "torch_nodes": "torch", "numpy": "NumPy", "jax": "JAX", "autograd": "HIPS autograd"}


class WarningRecorder:
    """Hears each warning once, as a fact; what it has heard is in the list that it has at the time."""

    def __init__(self, told: list[Fact]) -> None:
        self.warnings = told

    def record(self, message: Any, category: type[Warning], filename: str, *rest: Any, **further: Any) -> None:
        """In the place of `warnings.showwarning`."""
        text = " ".join(_INTERNAL.sub("", str(message)).split())
        one = fact("warned", by=_library(filename), text=text)
        if one not in self.warnings:
            self.warnings.append(one)


@contextmanager
def listening() -> Iterator[list[Fact]]:
    """Each warning that is given within, once, as a fact; none of them is printed."""
    ear = WarningRecorder([])
    with capture_warnings(ear):
        yield ear.warnings


@contextmanager
def capture_warnings(ear: WarningRecorder) -> Iterator[None]:
    """Every warning that is given within is heard; none of them is printed."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = ear.record
        yield


def _library(filename: str) -> str:
    """Whose file it is: a library's, as whose those count that call it, `engines/torch.py`, or somebody's own."""
    path = PurePath(filename)
    parts = [part.removesuffix(".py") for part in path.parts]
    return next((_LIBRARIES[part] for part in reversed(parts) if part in _LIBRARIES), path.name)
