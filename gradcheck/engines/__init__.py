"""Engines by name. Adding one is a line here; nothing is imported before it is asked for.

Anybody else's is named by `file.py:Tensor`, `package.module:Tensor` or an entry point (see `resolve`)."""

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


def _hips() -> Engine:
    from gradcheck.engines.hips import Hips

    return Hips()


def _jax() -> Engine:
    from gradcheck.engines.jax import Jax

    return Jax()


ENGINES: dict[str, Callable[[], Engine]] = {"core": _core, "torch": _torch, "hips": _hips, "jax": _jax}


def engine(name: str) -> Engine:
    """The engine of this name. Raises UsageError for an unknown name, or one that cannot be imported."""
    if name not in ENGINES:
        from gradcheck.engines.resolve import entry_points, from_entry_point, resolve

        if ":" in name:
            return resolve(name)
        offered = entry_points()
        if name in offered:
            return from_entry_point(offered[name])
        near = get_close_matches(name, (*ENGINES, *offered), n=1)
        known = f"{', '.join((*ENGINES, *offered))}, and anybody's Tensor class: FILE.py:CLASS or PACKAGE.MODULE:CLASS"
        raise UsageError(
            f"there is no engine {name!r}", hint=f"did you mean {near[0]!r}?" if near else f"there are {known}"
        )
    try:
        return ENGINES[name]()
    except ImportError as error:
        hint = "pip install 'gradcheck[engines]'" if name in ("hips", "jax") else ""
        raise UsageError(f"the engine {name!r} cannot be imported: {error}", hint=hint) from error
