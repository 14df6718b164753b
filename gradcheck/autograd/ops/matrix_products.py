"""Matrix products, `matmul` and its special cases; sums and chains."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import FLOATING, NUMBERS
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.common.dims import unbroadcast
from gradcheck.autograd.ops.expansion import expand
from gradcheck.autograd.ops.shape_casts import reshape, squeeze, unsqueeze
from gradcheck.autograd.promotion import require_one_dtype
from gradcheck.errors import ArgumentError, ShapeMismatch


def _matmul_left(g: Any, y: Any, a: Any, b: Any) -> Any:
    """The cotangent of `a`: `g @ b.mT`, for vectors too."""
    if a.ndim > 1 and b.ndim > 1:
        return unbroadcast(g @ _transposed(b), a)
    if b.ndim == 1:
        return g * b if a.ndim == 1 else unsqueeze(g, -1) * b
    return b @ g if b.ndim == 2 else unbroadcast(squeeze(b @ unsqueeze(g, -1), -1), a)


def _matmul_right(g: Any, y: Any, a: Any, b: Any) -> Any:
    """The cotangent of `b`: `a.mT @ g`, one product over all batches of `a`."""
    if a.ndim == 1:
        return g * a if b.ndim == 1 else unsqueeze(a, -1) * unsqueeze(g, -2)
    if b.ndim == 1:
        return _rows(a).T @ reshape(g, (prod(g.shape),)) if a.ndim > 2 else a.T @ g
    return _rows(a).T @ _rows(g) if b.ndim == 2 and a.ndim > 2 else unbroadcast(_transposed(a) @ g, b)


def _transposed(x: Any) -> Any:
    return x.T if x.ndim == 2 else x.mT


def _rows(x: Any) -> Any:
    """Return all rows of a batch of matrices as one matrix."""
    return reshape(x, (prod(x.shape[:-1]), x.shape[-1]))


def _product_elements(input: Any, other: Any) -> int:
    batch = 1 if input.ndim <= 2 >= other.ndim else prod(np.broadcast_shapes(input.shape[:-2], other.shape[:-2]))
    rows, columns = input.shape[-2:-1], other.shape[-1:] if other.ndim > 1 else ()
    return int(batch * prod(rows) * prod(columns))


@op(
    (_matmul_left, _matmul_right),
    uniform=True,
    numeric=True,
    aliases=("linalg.matmul",),
    elements=_product_elements,
    latex=r"#\,#",
    samples="""
        randn(2, 3) @ randn(3, 4); {}(randn(3), randn(3)); {}(randn(2, 3), randn(3)); {}(randn(3), randn(3, 4));
        {}(randn(5, 2, 3), randn(5, 3, 4)); {}(randn(5, 2, 3), randn(3, 4)); {}(randn(2, 3), randn(5, 3, 4));
        {}(randn(2, 1, 2, 3), randn(5, 3, 4)); {}(randn(5, 2, 3), randn(3)); {}(randn(3), randn(5, 3, 4));
        {}(randn(1, 2, 3), randn(5, 3, 4)); {}(randn(2, 0), randn(0, 3)); {}(randn(0, 2, 3), randn(3, 4));
        {}(randn(0, 3), randn(3))
    """,
    analytic=True,
)
def matmul(input: Any, other: Any) -> Any:
    """The product `input @ other` of vectors, matrices or batches."""
    try:
        return np.matmul(input, other)
    except ValueError as error:
        raise ShapeMismatch(f"shapes {list(input.shape)} and {list(other.shape)} cannot be multiplied") from error


def _require_ndim(name: str, **tensors: tuple[Any, int]) -> None:
    """Raise unless tensors have so many dimensions: `input=(input, 2)`."""
    for parameter, (tensor, ndim) in tensors.items():
        if getattr(tensor, "ndim", None) is None:
            raise ArgumentError(f"{name} takes a tensor as {parameter}, not {tensor!r:.60}")
        if tensor.ndim != ndim:
            raise ShapeMismatch(f"{name} takes {ndim} dimensions as {parameter}, not a shape of {list(tensor.shape)}")


@composite(
    elements=_product_elements,
    dtypes={"input mat2": NUMBERS},
    latex=r"#\,#",
    samples="mm(randn(2, 3), randn(3, 4)); randn(2, 3).mm(randn(3, 0))",
)
def mm(input: Any, mat2: Any) -> Any:
    """The product of two matrices."""
    _require_ndim("mm", input=(input, 2), mat2=(mat2, 2))
    return matmul(input, mat2)


@composite(
    elements=_product_elements,
    dtypes={"input mat2": NUMBERS},
    latex=r"#\,#",
    samples="bmm(randn(5, 2, 3), randn(5, 3, 4))",
)
def bmm(input: Any, mat2: Any) -> Any:
    """The products of two batches of matrices, of one size."""
    _require_ndim("bmm", input=(input, 3), mat2=(mat2, 3))
    if input.shape[0] != mat2.shape[0]:
        raise ShapeMismatch(f"bmm: batches of {list(input.shape)} and {list(mat2.shape)} differ in number")
    return matmul(input, mat2)


@composite(dtypes={"input vec": NUMBERS}, latex=r"#\,#", samples="mv(randn(2, 3), randn(3))")
def mv(input: Any, vec: Any) -> Any:
    """A matrix times a vector."""
    _require_ndim("mv", input=(input, 2), vec=(vec, 1))
    return matmul(input, vec)


@composite(
    dtypes={"input tensor": NUMBERS}, latex=r"# \cdot #", samples="dot(randn(3), randn(3)); randn(0).dot(randn(0))"
)
def dot(input: Any, tensor: Any) -> Any:
    """The sum of the products of two vectors; nothing is conjugated."""
    _require_ndim("dot", input=(input, 1), tensor=(tensor, 1))
    return matmul(input, tensor)


@composite(dtypes={"input other": NUMBERS}, samples="vdot(randn(3), randn(3))")
def vdot(input: Any, other: Any) -> Any:
    """The inner product of two vectors: the first is conjugated."""
    _require_ndim("vdot", input=(input, 1), other=(other, 1))
    return matmul(ops.conj(input) if input.dtype.kind == "c" else input, other)


@composite(
    name="linalg.vecdot",
    torch="linalg.vecdot",
    dtypes={"x y": FLOATING},
    samples="linalg.vecdot(randn(2, 3), randn(2, 3)); linalg.vecdot(randn(2, 3), randn(3), dim=-1)",
)
def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """Inner products of vectors along `dim`; the first is conjugated."""
    require_one_dtype("linalg.vecdot", x, y)
    return ops.sum((ops.conj(x) if x.dtype.kind == "c" else x) * y, dim)


def _outer_elements(input: Any, vec2: Any) -> int:
    return int(prod(input.shape) * prod(vec2.shape))


@composite(aliases=("ger",), elements=_outer_elements, samples="outer(randn(2), randn(3)); randn(2).outer(randn(0))")
def outer(input: Any, vec2: Any) -> Any:
    """`out[i, j] = input[i] * vec2[j]`."""
    _require_ndim("outer", input=(input, 1), vec2=(vec2, 1))
    return unsqueeze(input, 1) * vec2


# Products added to something -----------------------------------------------------------------------


def _add_scaled(name: str, input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """`beta * input + alpha * product`; beta = 0 ignores NaN in `input`."""
    require_one_dtype(name, input, product)
    scaled = product if alpha == 1 else product * alpha
    added = input if input.shape == product.shape else expand(input, product.shape)
    if beta == 0:
        return scaled
    return (added if beta == 1 else added * beta) + scaled


def _sum_elements(input: Any, left: Any, right: Any, beta: Any, alpha: Any) -> int:
    return _outer_elements(left, right) if right.ndim == 1 else _product_elements(left, right)


@composite(
    elements=_sum_elements,
    dtypes={"mat1": NUMBERS},
    samples="""
        addmm(randn(2, 4), randn(2, 3), randn(3, 4)); addmm(randn(4), randn(2, 3), randn(3, 4), beta=0.5, alpha=-2);
        randn(2, 1).addmm(randn(2, 3), randn(3, 4))
    """,
)
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)`; `input` is expanded."""
    return _add_scaled("addmm", input, mm(mat1, mat2), beta, alpha)


@composite(
    dtypes={"mat": NUMBERS},
    samples="addmv(randn(2), randn(2, 3), randn(3)); addmv(randn(1), randn(2, 3), randn(3), beta=2, alpha=0.5)",
)
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (mat @ vec)`; `input` is expanded."""
    return _add_scaled("addmv", input, mv(mat, vec), beta, alpha)


@composite(
    elements=_sum_elements,
    samples="addr(randn(2, 3), randn(2), randn(3)); addr(randn(3), randn(2), randn(3), beta=2, alpha=0.5)",
)
def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * outer(vec1, vec2)`; `input` is expanded."""
    return _add_scaled("addr", input, outer(vec1, vec2), beta, alpha)


@composite(
    elements=_sum_elements,
    dtypes={"batch1": NUMBERS},
    samples="""
        {}(randn(5, 2, 4), randn(5, 2, 3), randn(5, 3, 4));
        {}(randn(2, 1), randn(5, 2, 3), randn(5, 3, 4), beta=2, alpha=0.5)
    """,
)
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * bmm(batch1, batch2)`; `input` is expanded."""
    return _add_scaled("baddbmm", input, bmm(batch1, batch2), beta, alpha)


@composite(
    elements=_sum_elements,
    dtypes={"batch1": NUMBERS},
    samples="addbmm(randn(2, 4), randn(5, 2, 3), randn(5, 3, 4), beta=2, alpha=0.5)",
)
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * bmm(batch1, batch2).sum(0)`, expanded."""
    return _add_scaled("addbmm", input, ops.sum(bmm(batch1, batch2), 0), beta, alpha)


# Chains --------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def multiplication_order(sizes: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return the order of products in a chain of matrices that costs least.

    Matrix i is `sizes[i]` by `sizes[i + 1]`. A pair has the places at which two neighbouring parts begin; their product
    then stands at the first. Source: Cormen, Leiserson, Rivest, Stein: Introduction to algorithms, 3rd edition, 15.2.
    """
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    orders: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {(i, i): () for i in range(count)}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            k = min(costs, key=costs.__getitem__)
            cost[i, j] = costs[k]
            orders[i, j] = (*orders[i, k], *orders[k + 1, j], (i, k + 1))
    return orders[0, count - 1]


def multiply_chain(matrices: Sequence[Any]) -> Any:
    """Multiply all, in the order that costs least."""
    several = list(matrices)
    for left, right in multiplication_order((several[0].shape[0], *(m.shape[1] for m in several))):
        several[left] = several[left] @ several[right]
    return several[0]


def chained_elements(tensors: Any) -> int:
    """The size of the largest product of neighbours, or largest matrix."""
    found = rows = 0
    for number, tensor in enumerate(tensors):
        first, last = number == 0, number == len(tensors) - 1
        shape = [int(n) for n in tensor.shape]
        height, width = shape if len(shape) == 2 else (1, *shape) if first else (*shape, 1) if last else (0, 0)
        rows = max(rows, height)
        found = max(found, rows * width)
    return found


@composite(
    name="linalg.multi_dot",
    method=False,
    samples="""
        {}([randn(2, 3), randn(3, 4), randn(4, 2)]); {}([randn(3), randn(3, 4), randn(4, 2), randn(2)]);
        {}([randn(2, 3), randn(3)])
    """,
    elements=chained_elements,
)
def multi_dot(tensors: Any) -> Any:
    """The product of matrices in the cheapest order; ends may be vectors."""
    if len(tensors) < 2:
        raise ShapeMismatch(f"linalg.multi_dot takes at least 2 tensors, not {len(tensors)}")
    row, column = tensors[0].ndim == 1, tensors[-1].ndim == 1
    first = unsqueeze(tensors[0], 0) if row else tensors[0]
    last = unsqueeze(tensors[-1], 1) if column else tensors[-1]
    matrices = [first, *tensors[1:-1], last]
    shapes = [list(t.shape) for t in tensors]
    fits = all(m.ndim == 2 for m in matrices) and all(a.shape[1] == b.shape[0] for a, b in pairwise(matrices))
    if not fits:
        raise ShapeMismatch(f"linalg.multi_dot: tensors of shapes {shapes} cannot be multiplied")
    product = multiply_chain(matrices)
    return reshape(product, tuple(product.shape[int(row) : 2 - int(column)])) if row or column else product
