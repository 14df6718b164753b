"""User code by its reference in a case file."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from gradcheck.engines.resolve import load_object
from gradcheck.language.case import STDIN, Implementation


def name_of(found: Any) -> str:
    """Return the name of a callable in reports, such as `Gelu.apply`."""
    if isinstance(found, partial):
        return name_of(found.func)
    found = getattr(found, "_init_fn", found)  # the function of a `torch.library.custom_op`
    owner = getattr(found, "__self__", None)
    name = getattr(found, "__qualname__", "") or type(found).__qualname__
    own = getattr(found, "__name__", "")
    if own and name.rpartition(".")[2] != own:  # of a wrapper around a function without a qualified name
        name = own
    if name.endswith("apply") and isinstance(owner, type):
        name = f"{owner.__name__}.apply"
    return str(name.rpartition("<locals>.")[2])


def folder_of(file: str) -> Path:
    """Return the folder of a case file, where its references start."""
    return Path() if file in ("", STDIN) else Path(file).parent


def load_code(implementation: Implementation) -> tuple[Any, Any]:
    """Return the callable and its backward, if any. Raises UsageError."""
    if implementation.loaded is not None:
        found = implementation.loaded
        return found if isinstance(found, tuple) else (found, None)
    folder = folder_of(implementation.place.file)
    references = (implementation.call, implementation.backward)
    forward, backward = (load_object(_absolute_reference(folder, one)) if one else None for one in references)
    return forward, backward


def with_absolute_paths(implementation: Implementation) -> Implementation:
    """Return the implementation with absolute paths."""
    folder = folder_of(implementation.place.file).absolute()
    pair = (implementation.call, implementation.backward)
    call, backward = (_absolute_reference(folder, one) if one else one for one in pair)
    return replace(implementation, call=call, backward=backward)


def _absolute_reference(folder: Path, reference: str) -> str:
    """Return a reference with its file below `folder`; a module unchanged."""
    where, _, name = reference.rpartition(":")
    if not (where.endswith(".py") or "/" in where or os.sep in where):
        return reference
    return f"{folder / where}:{name}"
