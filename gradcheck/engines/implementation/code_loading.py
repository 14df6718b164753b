"""A reference to somebody's code, as a case file has it, and the object that it names."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from gradcheck.engines.resolve import load_object
from gradcheck.language.case import STDIN, Implementation


def folder_of(file: str) -> Path:
    """Where the files are looked for that a case names: beside it."""
    return Path() if file in ("", STDIN) else Path(file).parent


def load_code(implementation: Implementation) -> tuple[Any, Any]:
    """The callable and its backward, None where it has none of its own. Raises UsageError, which says what is there."""
    if implementation.loaded is not None:
        found = implementation.loaded
        return found if isinstance(found, tuple) else (found, None)
    folder = folder_of(implementation.place.file)
    forward = load_object(_absolute_reference(folder, implementation.call))
    return forward, load_object(
        _absolute_reference(folder, implementation.backward)
    ) if implementation.backward else None


def with_absolute_paths(implementation: Implementation) -> Implementation:
    """The same with files by their whole paths, for a case that stands elsewhere."""
    folder = folder_of(implementation.place.file).absolute()
    pair = (implementation.call, implementation.backward)
    call, backward = (_absolute_reference(folder, one) if one else one for one in pair)
    return replace(implementation, call=call, backward=backward)


def _absolute_reference(folder: Path, reference: str) -> str:
    """A reference to a file as it is from the working directory; one to a module as it is."""
    where, _, name = reference.rpartition(":")
    if not (where.endswith(".py") or "/" in where or os.sep in where):
        return reference
    return f"{folder / where}:{name}"
