"""Products that accumulate along a dimension; sums that do are in `linear`."""

from __future__ import annotations

from typing import Any

from gradcheck.autograd.op import TABLE
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.rules import exact_rule


@exact_rule("cumprod")
def _cumprod(x: Dual, dim: int, dtype: Any) -> Any:
    """One factor after the other."""
    if not x.ndim or not x.shape[dim]:
        return x
    parts = [x.narrow(dim, 0, 1)]
    for i in range(1, x.shape[dim]):
        parts.append(parts[-1] * x.narrow(dim, i, 1))
    return TABLE["cat"](parts, dim)
