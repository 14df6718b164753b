"""All ops by name, for rules and compositions that are written in others, wherever those stand: `ops.sum(x)`."""

from __future__ import annotations

from typing import Any

from gradcheck.autograd.op import TABLE


class _ByName:
    """Looks an op up when it is used, so that families of ops need not import one another."""

    def __getattr__(self, name: str) -> Any:
        try:
            return TABLE[name]
        except KeyError:
            raise AttributeError(f"there is no op {name!r}") from None


ops: Any = _ByName()
