"""Collect the warnings that libraries issue while a case is checked."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

from gradcheck.facts import Fact, fact

#: The C++ location in a warning of torch, which helps no user.
_INTERNAL = re.compile(r"\s*\(Triggered internally at [^)]*\)\.?")
#: The most warnings that are kept of a case, and characters of each.
_MOST, _MOST_CHARACTERS = 100, 1_000
#: Libraries, by a folder of their files.
_LIBRARIES = {"torch": "torch", "torch_nodes": "torch", "numpy": "NumPy", "jax": "JAX", "autograd": "HIPS autograd"}


class WarningRecorder:
    """Collects warnings, each once, as facts in the list `warnings`."""

    def __init__(self, warnings: list[Fact]) -> None:
        self.warnings = warnings

    def record(self, message: Any, category: type[Warning], filename: str, *rest: Any, **further: Any) -> None:
        """Replace `warnings.showwarning`."""
        if len(self.warnings) == _MOST:
            return
        text = " ".join(_INTERNAL.sub("", str(message)).split())[:_MOST_CHARACTERS]
        one = fact("warned", by=_library(filename), text=text)
        if one not in self.warnings:
            self.warnings.append(one)


@contextmanager
def capture_warnings(recorder: WarningRecorder) -> Iterator[None]:
    """Record every warning of the block; print none."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = recorder.record
        yield


def _library(filename: str) -> str:
    """Return a file's library, or its name; `engines/torch.py` is torch's."""
    path = PurePath(filename)
    parts = [part.removesuffix(".py") for part in path.parts]
    return next((_LIBRARIES[part] for part in reversed(parts) if part in _LIBRARIES), path.name)
