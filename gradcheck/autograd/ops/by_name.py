"""All ops by name, for ops that are written in others, wherever those stand: `ops.sum(x)`."""

from __future__ import annotations

from typing import Any

from gradcheck.autograd.op import lookup


class _ByName:
    """Looks an op up when it is used, so that families of ops need not import one another."""

    def __getattr__(self, name: str) -> Any:
        entry = lookup(name)
        if entry is None:
            raise AttributeError(f"there is no op {name!r}")
        return entry


ops: Any = _ByName()
