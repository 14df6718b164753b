"""A mode of torch in which memory that code does not write is NaN.

A kernel whose grid or mask is too small leaves elements of `torch.empty` as they were: often the right numbers of an
earlier call.
"""

from __future__ import annotations

from typing import Any

from gradcheck.engines.implementation.precision_modes import WatchingMode

_EMPTY = frozenset(("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"))


class UnwrittenIsNan(WatchingMode):
    """Fills what torch allocates without initial values."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if func._schema.name.rpartition("::")[2] in _EMPTY and (found.is_floating_point() or found.is_complex()):
            found.fill_(float("nan"))
        return found
