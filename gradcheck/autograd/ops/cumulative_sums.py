"""Running sums and products along one dimension: `cumsum`, `cumprod`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.dtype_sets import NUMBERS
from gradcheck.autograd.op import linear, op
from gradcheck.autograd.ops.common.arguments import accumulate
from gradcheck.autograd.ops.common.dims import canonical_dim
from gradcheck.autograd.ops.creation import ones_like, zeros_like
from gradcheck.autograd.ops.indexing import narrow
from gradcheck.autograd.ops.join_split import cat
from gradcheck.autograd.ops.shape_casts import to
from gradcheck.autograd.ops.transpose_flip import flip

_SAMPLES = """
    {}(randn(4), 0); {}(randn(2, 5), dim=-1); {}(randn(3, 2), 0); {}(randn(()), 0); {}(randn(0, 2), 0);
    {}(randn(1), 0); {}(randint(1, 4, [3]), 0); {}(complex(randn(3), randn(3)), 0);
    {}(randn(3), 0, dtype=torch.float32)
"""


def _cumulate(function: Any, input: Any, dim: int, dtype: Any) -> Any:
    axis = canonical_dim(dim, input.ndim)
    return accumulate(lambda x: function(x, axis=axis) if x.ndim else x.copy(), input, dtype)


def _cumsum_rule(g: Any, y: Any, x: Any, dim: int, dtype: Any) -> Any:
    return flip(cumsum(flip(g, (dim,)), dim), (dim,)) if x.ndim else g


@linear(_cumsum_rule, rounds=True, dtypes={"dtype": NUMBERS}, samples=_SAMPLES)
def cumsum(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The sums of the elements up to and with each one."""
    return _cumulate(np.cumsum, input, dim, dtype)


def _cumprod_rule(g: Any, y: Any, x: Any, dim: int, dtype: Any) -> Any:
    """Avoid divisions, so that zeros are harmless.

    With y[k] = y[k - 1] x[k], the cotangent of y[k] is r[k] = g[k] + x[k + 1] r[k + 1]; x[k] gets y[k - 1] r[k].
    Source: Blelloch, Prefix sums and their applications, 1990, section 1.4 (recurrences as scans).
    """
    if x.ndim == 0 or 0 in x.shape:
        return g
    x = x if dtype is None else to(x, y.dtype)
    return cumprod(_shift_right(x, dim), dim) * _recurrence(_shift_left(x, dim, 1), g, dim)


@op(
    _cumprod_rule,
    rounds=True,
    dtypes={"dtype": NUMBERS},
    samples=f"""{_SAMPLES};
        cumprod(tensor([2.0, 0.0, 3.0, 4.0]), 0); cumprod(tensor([[2.0, 0.0, 3.0, 0.0, 5.0]]), 1); cumprod(randn(9), 0)
    """,
    analytic=True,
)
def cumprod(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The products of the elements up to and with each one."""
    return _cumulate(np.cumprod, input, dim, dtype)


def exclusive_products(x: Any, dim: int) -> Any:
    """Return each element's product of all others along `dim`, undivided."""
    if x.ndim == 0 or 0 in x.shape:
        return ones_like(x)
    after = flip(cumprod(_shift_right(flip(x, (dim,)), dim), dim), (dim,))
    return cumprod(_shift_right(x, dim), dim) * after


def _shift_right(x: Any, dim: int) -> Any:
    """Each element's predecessor; 1 for the first."""
    first = ones_like(narrow(x, dim, 0, 1))
    return cat([first, narrow(x, dim, 0, x.shape[dim] - 1)], dim)


def _shift_left(x: Any, dim: int, by: int) -> Any:
    """The element `by` places on; 0 past the end."""
    return cat([narrow(x, dim, by, x.shape[dim] - by), zeros_like(narrow(x, dim, 0, by))], dim)


def _recurrence(a: Any, b: Any, dim: int) -> Any:
    """Return r with r[k] = b[k] + a[k] r[k + 1], in log2(n) steps.

    Source: Hillis and Steele, "Data parallel algorithms", 1986.
    """
    reach, length = 1, b.shape[dim]
    while reach < length:
        b = b + a * _shift_left(b, dim, reach)
        a = a * _shift_left(a, dim, reach)
        reach *= 2
    return b
