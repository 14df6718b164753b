"""Sorting along one dimension; gradients return to the sources."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.dtype_sets import REAL_NUMBERS
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.common.arguments import refuse_complex
from gradcheck.autograd.ops.common.dims import canonical_dim, require_integer
from gradcheck.autograd.ops.gather_scatter import gather
from gradcheck.autograd.ops.indexing import narrow
from gradcheck.errors import ShapeMismatch

_SAMPLES = """
    {}(randn(2, 5)); {}(randn(4, 2), 0); {}(randn(2, 3), dim=-1, descending=True); {}(randn(())); {}(randn(0, 3), 0);
    {}(tensor([2.0, nan, -inf, inf, 2.0, 1.0]), stable=True);
    {}(tensor([2.0, nan, -inf, inf, 2.0, 1.0]), stable=True, descending=True); {}(randint(0, 9, [7]))
"""


@op(samples=_SAMPLES)
def argsort(input: Any, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Any:
    """Indices of the sorted elements; stable, NaN last."""
    refuse_complex("argsort", input.dtype)
    axis = canonical_dim(dim, input.ndim)
    if input.ndim == 0:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(input, axis, kind="stable")
    backwards = np.argsort(np.flip(input, axis), axis, kind="stable")
    return input.shape[axis] - 1 - np.flip(backwards, axis)


@composite(kinks="ties", samples=_SAMPLES)
def sort(input: Any, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Any:
    """The elements in ascending or descending order, and their indices."""
    indices = argsort(input, dim, descending, stable=True)
    return gather(input, dim, indices), indices


@composite(
    kinks="ties",
    dtypes={"input": REAL_NUMBERS},
    samples="""
        topk(randn(2, 5), 2); topk(randn(5, 2), 3, 0); topk(randn(2, 5), k=2, dim=1, largest=False);
        topk(randn(2, 3), 0)
    """,
)
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The `k` largest elements, or smallest, in order, and where they stood."""
    axis, count = canonical_dim(dim, input.ndim), require_integer(k, "k")
    if not 0 <= count <= (input.shape[axis] if input.ndim else 1):
        raise ShapeMismatch(f"topk: there are no {count} elements along dimension {dim} of {list(input.shape)}")
    indices = argsort(input, dim, largest, stable=True)
    first = narrow(indices, dim, 0, count) if input.ndim else indices
    return gather(input, dim, first), first
