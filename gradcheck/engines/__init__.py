"""Engines by name. Adding one is a line here; nothing is imported before it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

from gradcheck.engines.base import Engine
from gradcheck.errors import UsageError


def _core() -> Engine:
    from gradcheck.engines.core import Core

    return Core()


def _torch() -> Engine:
    from gradcheck.engines.torch import Torch

    return Torch(threads=1)


ENGINES: dict[str, Callable[[], Engine]] = {"core": _core, "torch": _torch}


def engine(name: str) -> Engine:
    """The engine of this name. Raises UsageError for an unknown name, or one that cannot be imported."""
    if name not in ENGINES:
        near = get_close_matches(name, ENGINES, n=1)
        known = ", ".join(ENGINES)
        raise UsageError(
            f"there is no engine {name!r}", hint=f"did you mean {near[0]!r}?" if near else f"there are {known}"
        )
    try:
        return ENGINES[name]()
    except ImportError as error:
        raise UsageError(f"the engine {name!r} cannot be imported: {error}") from error
