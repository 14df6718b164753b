"""Case files to Cases: YAML in which every value has a place.

A path goes through these modules in turn. `case_files` finds the files and reads their bytes. `yaml_text` decodes them
and divides them into documents. `compose` makes of each a `yaml_document.Document`, which knows the place of every
value. `validate` checks it against the `model`. `case_builder` makes the Case, with `value_reader`, `expression_reader`
and `symbolic_shapes` for its parts. A new key of case files is a field in `case` and a key in `model`, and one that
needs reading a line in `case_builder`.

Nothing here computes a tensor or knows an engine. Every mistake is an `InvalidCase` with its place. Reading goes on
after it, so that one run reports all mistakes of a file. An unexpected exception is a `Crash`, which is an error of its
file.
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
    """Import an attribute at its first use: the schema needs no YAML."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
