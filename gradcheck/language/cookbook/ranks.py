"""Normal forms as trees, and their ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: `("name", "x")`, `("number", 2.0)`, else an op and its parts.
Tree = tuple[Any, ...]
#: The ranks of names, as far as known.
Ranks = Mapping[str, int]
#: Elementwise functions of one tensor: a transpose passes through, and the rank stays.
ELEMENTWISE = frozenset(
    {
        *("abs", "sin", "cos", "tan", "exp", "log", "sinh", "cosh", "tanh", "sigmoid", "relu", "erf", "sign"),
        *("asin", "acos", "atan", "lgamma", "digamma", "floor"),
    }
)


def rank(tree: Tree) -> int | None:
    """Return the number of dimensions, or None if unknown."""
    kind, *parts = tree
    if kind in ("number", "trace", "scalar", "det"):
        return 0
    if kind == "name":
        known_rank: int | None = parts[1]
        return known_rank
    if kind in ("add", "mul"):
        known = [rank(part) for part in parts]
        return None if None in known else max(one for one in known if one is not None)
    if kind == "chain":
        ends = (rank(parts[0]), rank(parts[-1]))
        return None if None in ends else 2 - ends.count(1)
    if kind in ELEMENTWISE or kind in ("T", "pow", "even", "inv"):
        return rank(parts[0])
    return 0 if kind in ("sum", "mean") and len(parts) == 1 else None
