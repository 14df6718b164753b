"""Functions of torch, NumPy and Python that user code has replaced.

Without repair, all later code would compute with them, its specification first.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np
import torch

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
        """Restore replaced functions; return their names.

        Additions to a module stay: a library was imported."""
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
