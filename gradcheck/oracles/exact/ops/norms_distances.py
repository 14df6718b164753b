"""Norms of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.autograd.ops.common.dims import axes
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact.dual import Dual, lift
from gradcheck.oracles.exact.ops.reductions import summed
from gradcheck.oracles.exact.rules import exact_rule


@exact_rule("linalg.vector_norm")
def _norm(x: Dual, order: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    run = list(axes(dim, x.ndim))
    if order == 2:
        return (summed(x * x, run, keepdim) if x.ndim else x * x).sqrt()
    if order == 1:
        return summed(x.abs(), run, keepdim)
    if order in (np.inf, -np.inf):
        return TABLE["amax" if order > 0 else "amin"](x.abs(), run, keepdim)
    if order == 0:
        return summed(lift(x.point, np.ones(x.shape)), run, keepdim)
    raise Unsupported(f"a norm of order {order}")
