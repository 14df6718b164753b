"""Gathering from positions of the largest, and scattering to them; at plain indices elements are only moved."""

from __future__ import annotations

from typing import Any

from gradcheck.errors import Unsupported
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.ops.linear import linear
from gradcheck.oracles.exact.ops.min_max import Positions
from gradcheck.oracles.exact.ops.reductions import summed
from gradcheck.oracles.exact.rules import exact_rule


def _is_along(positions: Any, dim: int, x: Dual) -> bool:
    """Whether these are positions in this tensor. Raises Unsupported where they are those in another."""
    if not isinstance(positions, Positions):
        return False
    if not positions.keepdim or dim % x.ndim != positions.dim or x.shape != positions.weights.shape:
        raise Unsupported("positions in another tensor")
    return True


@exact_rule("gather")
def _gather(x: Dual, dim: int, index: Any, *settings: Any) -> Dual:
    if not _is_along(index, dim, x):
        return linear("gather", x, dim, index, *settings)
    return summed(x * index.weights, dim, True)


@exact_rule("scatter_add", operands=(0, 3))
def _scatter_add(x: Dual, dim: int, index: Any, source: Dual) -> Any:
    if not _is_along(index, dim, x):
        return linear("scatter_add", x, dim, index, source)
    return x + source * index.weights
