"""From case files to Cases: YAML with a position for everything, read and checked to the last name.

A path goes through these in turn: `files` finds the files and reads their bytes, `text` decodes them and divides them
into documents, `compose` makes of each a `Document` that knows the place of everything, `validate` holds it against the
`model`, and `build` makes the Case, with `values`, `expressions` and `shapes` for what stands in it. A new key of case
files is a field in `model`, and what becomes of it in `build`.

Nothing here computes a tensor or knows an engine. Every mistake is an `InvalidCase` with its place; reading goes on
after it, so that all of a file's mistakes are told at once. An exception that nobody foresaw is a `Crash`, an error of
its file as well.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcheck.language.loader.case_files import load, load_text
    from gradcheck.language.loader.yaml_document import Limits

__all__ = ["Limits", "load", "load_text"]

_HOMES = {"Limits": "yaml_document", "load": "case_files", "load_text": "case_files"}


def __getattr__(name: str) -> Any:
    """What is asked for is imported then: the schema of case files takes no YAML."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
