"""Global state of the process, restored after user code."""

from __future__ import annotations

import builtins
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
import torch


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _device() -> torch.device:
    """Return the default device.

    `torch.get_default_device` raises in torch 2.4 once the default has been restored."""
    return torch.empty(0).device


#: The getter and the setter of each state.
_STATES: tuple[tuple[Callable[[], Any], Callable[[Any], object]], ...] = (
    (_folder, os.chdir),
    (np.geterr, lambda known: np.seterr(**known)),
    (np.get_printoptions, lambda known: np.set_printoptions(**known)),
    (torch.get_default_dtype, torch.set_default_dtype),
    (_device, lambda device: torch.set_default_device(None if device.type == "cpu" else device)),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.is_anomaly_enabled, torch.set_anomaly_enabled),
    (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
)


@contextmanager
def restore_global_state() -> Iterator[None]:
    """Restore all state after the block; make `os._exit` raise SystemExit.

    So no run looks complete that ended early. A fork of the process ends here."""
    known = [ask() for ask, _ in _STATES]
    process, leave = os.getpid(), os._exit

    def end(status: int) -> NoReturn:
        if os.getpid() == process:
            raise SystemExit(status)
        leave(status)

    os._exit = end
    try:
        yield
    finally:
        os._exit = leave
        if os.getpid() != process:
            leave(1)
        for before, (ask, settle) in zip(known, _STATES, strict=True):
            if before != "" and ask() != before:
                settle(before)


# Replaced functions -------------------------------------------------------------------------------


#: The watched modules and classes, with their names.
_OWNERS: tuple[tuple[str, Any], ...] = (
    ("torch", torch),
    ("torch.Tensor", torch.Tensor),
    ("torch.nn.functional", torch.nn.functional),
    ("torch.linalg", torch.linalg),
    ("torch.autograd", torch.autograd),
    ("torch.autograd.Function", torch.autograd.Function),
    ("numpy", np),
    ("numpy.linalg", np.linalg),
    ("math", math),
    ("builtins", builtins),
)
_MISSING = object()


class Patches:
    """The functions as they are now."""

    def __init__(self) -> None:
        self._known = [dict(vars(owner)) for _, owner in _OWNERS]

    def undo(self) -> tuple[str, ...]:
        """Restore replaced functions, and return their names; additions stay."""
        found: list[str] = []
        for (text, owner), known in zip(_OWNERS, self._known, strict=True):
            now = vars(owner)
            changed = [name for name, value in known.items() if now.get(name, _MISSING) is not value]
            for name in changed:
                setattr(owner, name, known[name])
            if isinstance(owner, type):  # an added attribute hides an inherited one
                added = [name for name in now if name not in known]
                for name in added:
                    delattr(owner, name)
                changed += added
            found += [f"{text}.{name}" for name in changed if not name.startswith("_")]
        return tuple(found)
