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


@contextmanager
def listening() -> Iterator[list[Fact]]:
    """Each warning that is given within, once, as a fact; none of them is printed."""
    found: dict[Fact, None] = {}
    told: list[Fact] = []

    def hear(message: Any, category: type[Warning], filename: str, *rest: Any, **further: Any) -> None:
        text = " ".join(_INTERNAL.sub("", str(message)).split())
        one = fact("warned", by=_library(filename), text=text)
        if one not in found:
            found[one] = None
            told.append(one)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = hear
        yield told


def _library(filename: str) -> str:
    """Whose file it is: a library's, as whose those count that call it, `engines/torch.py`, or somebody's own."""
    path = PurePath(filename)
    parts = [part.removesuffix(".py") for part in path.parts]
    return next((_LIBRARIES[part] for part in reversed(parts) if part in _LIBRARIES), path.name)
