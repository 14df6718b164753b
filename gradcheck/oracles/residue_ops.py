"""How ops act on dual numbers modulo a prime: those of rings and fields."""

from __future__ import annotations

from functools import reduce
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE, Op
from gradcheck.errors import ShapeMismatch, Unsupported
from gradcheck.oracles import modular
from gradcheck.oracles.chain import Chain
from gradcheck.oracles.residue import Degree, Point, Residue, acts_on, lift

#: Ops that only move elements about, or leave them out: they act on values and tangents alike.
MOVES = (
    *("reshape", "squeeze", "unsqueeze", "expand", "repeat", "clone", "contiguous", "positive"),
    *("transpose", "permute", "movedim", "flip", "roll", "diagonal", "diag_embed", "tril", "triu", "getitem"),
    *("gather", "index_select", "cat", "stack", "where", "scatter", "diagonal_scatter"),
)
#: Ops that add elements up.
SUMS = ("sum_to_size", "cumsum", "neg", "scatter_add", "index_add", "index_adjoint", "index_put")


@acts_on(*MOVES, *SUMS)
def _linear(point: Point, op: Op, *args: Any) -> Residue:
    """The forward itself on integers, once for the values and once for the tangents."""
    operands = _operands(point, op, args)
    value = _forward(op, args, [x.value for x in operands], point.prime)
    tangent = None
    if any(x.tangent is not None for x in operands):
        zeros = [np.zeros_like(x.value) if x.tangent is None else x.tangent for x in operands]
        tangent = _forward(op, args, zeros, point.prime)
    degree = reduce(lambda a, b: _union(a, b) if op.name in MOVES else a + b, (x.degree for x in operands))
    if op.name in SUMS:
        degree = degree.summed(max(1, -(-max(x.value.size for x in operands) // max(value.size, 1))))
    return Residue(point, value, tangent, degree)


def _union(a: Degree, b: Degree) -> Degree:
    return Degree(max(a.top, b.top), max(a.bottom, b.bottom))


#: Which arguments of these ops hold numbers; of all others the first alone does.
_HOLDERS = {"where": (1, 2), "scatter": (0, 3), "scatter_add": (0, 3), "index_add": (0, 3), "diagonal_scatter": (0, 1),
            "index_put": (0, 2)}  # fmt: skip


def _operands(point: Point, op: Op, args: tuple[Any, ...]) -> list[Residue]:
    if op.sequence is not None:
        return [lift(point, item) for item in args[op.sequence]]
    if op.name == "scatter" and isinstance(args[3], (int, float)):
        args = (*args[:3], np.full(np.shape(args[2]), args[3]), *args[4:])
    return [lift(point, args[i]) for i in _HOLDERS.get(op.name, (0,)) if i < len(args)]


def _forward(op: Op, args: tuple[Any, ...], arrays: list[np.ndarray], prime: int) -> np.ndarray:
    given = list(args)
    if op.sequence is not None:
        given[op.sequence] = arrays
    else:
        for position, array in zip(_HOLDERS.get(op.name, (0,)), arrays, strict=False):
            given[position] = array
    for position, value in enumerate(given):
        if isinstance(value, np.dtype):
            given[position] = None  # a cast, to which integers are blind
    return modular.reduce(op.forward(*given), prime)


@acts_on("to")
def _to(point: Point, op: Op, x: Any, *settings: Any) -> Any:
    return x


@acts_on("detach")
def _detach(point: Point, op: Op, x: Any) -> Residue:
    return Residue(point, x.value, None, x.degree)


@acts_on("zeros_like")
def _zeros_like(point: Point, op: Op, x: Any, *settings: Any) -> np.ndarray:
    return np.zeros(x.shape)


@acts_on("ones_like")
def _ones_like(point: Point, op: Op, x: Any, *settings: Any) -> np.ndarray:
    return np.ones(x.shape)


@acts_on("full_like")
def _full_like(point: Point, op: Op, x: Any, fill_value: Any, *settings: Any) -> np.ndarray:
    return np.full(x.shape, fill_value)


# Ring operations ------------------------------------------------------------------------------


def plus(a: Residue, b: Residue, sign: int = 1) -> Residue:
    """`a + sign * b`, with broadcasting."""
    prime = a.point.prime
    value = (a.value + sign * b.value) % prime
    tangent = _combine(a.tangent, None if b.tangent is None else sign * b.tangent, value.shape, prime)
    return Residue(a.point, value, tangent, a.degree + b.degree)


def times(a: Residue, b: Residue) -> Residue:
    """The product, element by element, with broadcasting."""
    prime = a.point.prime
    value = (a.value * b.value) % prime
    left = None if a.tangent is None else (a.tangent * b.value) % prime
    right = None if b.tangent is None else (a.value * b.tangent) % prime
    return Residue(a.point, value, _combine(left, right, value.shape, prime), a.degree * b.degree)


def reciprocal(x: Residue) -> Residue:
    """`1 / x`. Raises ZeroDivisionError where x is 0."""
    prime = x.point.prime
    value = modular.inverse(x.value, prime)
    tangent = None if x.tangent is None else (-(value * value % prime) * x.tangent) % prime
    return Residue(x.point, value, tangent, x.degree.inverted())


def _combine(left: Any, right: Any, shape: tuple[int, ...], prime: int) -> np.ndarray | None:
    if left is None and right is None:
        return None
    total = (0 if left is None else left) + (0 if right is None else right)
    return np.array(np.broadcast_to(total % prime, shape))


@acts_on("add", "sub")
def _add(point: Point, op: Op, a: Any, b: Any, alpha: Any = 1) -> Residue:
    other = lift(point, b) if alpha == 1 else times(lift(point, b), lift(point, alpha))
    return plus(lift(point, a), other, 1 if op.name == "add" else -1)


@acts_on("mul")
def _mul(point: Point, op: Op, a: Any, b: Any) -> Residue:
    return times(lift(point, a), lift(point, b))


@acts_on("div")
def _div(point: Point, op: Op, a: Any, b: Any, rounding_mode: Any = None) -> Residue:
    if rounding_mode is not None:
        raise Unsupported("a quotient that is rounded")
    return times(lift(point, a), reciprocal(lift(point, b)))


@acts_on("reciprocal")
def _reciprocal(point: Point, op: Op, x: Any) -> Residue:
    return reciprocal(lift(point, x))


@acts_on("square")
def _square(point: Point, op: Op, x: Residue) -> Residue:
    return times(x, x)


def integer_power(x: Residue, exponent: int) -> Residue:
    """`x ** exponent`."""
    prime = x.point.prime
    if exponent == 0:
        return Residue(x.point, np.ones_like(x.value), None, Degree())
    value = modular.power(x.value, exponent, prime)
    tangent = None
    if x.tangent is not None:
        slope = (exponent % prime) * modular.power(x.value, exponent - 1, prime) % prime
        tangent = slope * x.tangent % prime
    degree = x.degree**exponent if exponent > 0 else x.degree.inverted() ** -exponent
    return Residue(x.point, value, tangent, degree)


@acts_on("lerp")
def _lerp(point: Point, op: Op, start: Any, end: Any, weight: Any) -> Residue:
    start = lift(point, start)
    return plus(start, times(lift(point, weight), plus(lift(point, end), start, -1)))


@acts_on("mean")
def _mean(point: Point, op: Op, x: Residue, dim: Any = None, keepdim: bool = False, *settings: Any) -> Residue:
    total = TABLE["sum"](x, dim, keepdim)
    if not x.value.size:
        raise Unsupported("the mean of nothing")
    return times(total, reciprocal(lift(point, x.value.size // total.value.size)))


@acts_on("var")
def _var(point: Point, op: Op, x: Residue, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Residue:
    """The mean square of what differs from the mean, over `n - correction`."""
    if isinstance(dim, bool) or unbiased is not None:
        raise Unsupported("var with torch's older arguments")
    centred = plus(x, TABLE["mean"](x, dim, True), -1)
    total = TABLE["sum"](times(centred, centred), dim, keepdim)
    count = x.value.size // max(1, total.value.size) - (1 if correction is None else correction)
    return times(total, reciprocal(lift(point, count)))


# Products -------------------------------------------------------------------------------------


@acts_on("matmul")
def _matmul(point: Point, op: Op, a: Any, b: Any) -> Residue:
    a, b = lift(point, a), lift(point, b)
    if a.shape[-1:] != b.shape[-2:][:1]:
        raise ShapeMismatch(f"a product of shapes {a.shape} and {b.shape}")
    if a.ndim == b.ndim == 2:
        return _product(a, b)
    return contract(np.matmul, a, b, max(a.shape[-1], 1))


def _product(a: Residue, b: Residue) -> Residue:
    """Of two matrices, not multiplied out yet."""
    a_moves, b_moves = a.tangent_chain(), b.tangent_chain()
    left = None if a_moves is None else a_moves @ b.chain()
    right = None if b_moves is None else a.chain() @ b_moves
    tangent: Any = left or right
    if left and right:
        tangent = (left.dense() + right.dense()) % a.point.prime
    return Residue(a.point, a.chain() @ b.chain(), tangent, (a.degree * b.degree).summed(max(1, a.shape[1])))


def chained(x: Residue, left: np.ndarray | None = None, right: np.ndarray | None = None) -> Residue:
    """A matrix between two others that are constant."""
    if left is not None:
        x = _product(Residue(x.point, left, None, Degree()), x)
    return x if right is None else _product(x, Residue(x.point, right, None, Degree()))


@acts_on("T", "mT")
def _transpose(point: Point, op: Op, x: Residue) -> Residue:
    if x.ndim != 2:
        return _linear(point, op, x)
    tangent = x.tangent_chain()
    return Residue(point, x.chain().T, None if tangent is None else tangent.T, x.degree)


@acts_on("sum")
def _sum(point: Point, op: Op, x: Residue, dim: Any = None, keepdim: bool = False, *settings: Any) -> Residue:
    """Of a chain of matrices: a product with ones, which ends in a vector."""
    axes = _axes(dim, x.ndim)
    if not isinstance(x.lazy_value, Chain) or not axes:
        return _linear(point, op, x, dim, keepdim, *settings)
    rows, columns = x.shape
    left = np.ones((1, rows), dtype=np.int64) if 0 in axes else None
    right = np.ones((columns, 1), dtype=np.int64) if 1 in axes else None
    total = chained(x, left, right)
    return total if keepdim else TABLE["reshape"](total, tuple(n for i, n in enumerate(x.shape) if i not in axes))


def _axes(dim: Any, ndim: int) -> set[int]:
    if dim is None:
        return set(range(ndim))
    return {axis % ndim for axis in (dim if isinstance(dim, (list, tuple)) else (dim,))} if ndim else set()


def contract(form: Any, a: Residue, b: Residue, terms: int) -> Residue:
    """A bilinear form that adds `terms` products into each element, by the product rule."""
    prime = a.point.prime
    value = modular.bilinear(form, a.value, b.value, terms, prime)
    left = None if a.tangent is None else modular.bilinear(form, a.tangent, b.value, terms, prime)
    right = None if b.tangent is None else modular.bilinear(form, a.value, b.tangent, terms, prime)
    tangent = _combine(left, right, value.shape, prime)
    return Residue(a.point, value, tangent, (a.degree * b.degree).summed(terms))


@acts_on("einsum")
def _einsum(point: Point, op: Op, equation: str, operands: Any) -> Residue:
    """Over the outer product of all operands, one pair at a time where there are two."""
    factors = [lift(point, operand) for operand in operands]
    if len(factors) == 1:
        return _einsum_of_one(point, equation, factors[0])
    if len(factors) > 2:
        raise Unsupported("einsum of more than two operands")
    a, b = factors
    out = np.einsum(equation, np.broadcast_to(0.0, a.shape), np.broadcast_to(0.0, b.shape))
    terms = max(1, a.value.size * b.value.size // max(1, out.size))
    return contract(lambda x, y: np.einsum(equation, x, y), a, b, min(terms, max(a.value.size, b.value.size)))


def _einsum_of_one(point: Point, equation: str, x: Residue) -> Residue:
    value = modular.reduce(np.einsum(equation, x.value), point.prime)
    tangent = None if x.tangent is None else modular.reduce(np.einsum(equation, x.tangent), point.prime)
    return Residue(point, value, tangent, x.degree.summed(max(1, x.value.size // max(1, value.size))))


@acts_on("prod")
def _prod(point: Point, op: Op, x: Residue, dim: Any = None, keepdim: bool = False, *settings: Any) -> Residue:
    """One factor after the other along the dimension."""
    if dim is None:
        flat = TABLE["reshape"](x, (prod(x.shape),))
        return _prod(point, op, flat, 0)
    parts = [TABLE["getitem"](x, (slice(None),) * (dim % x.ndim) + (i,)) for i in range(x.shape[dim])]
    product = reduce(times, parts) if parts else lift(point, np.ones(x.shape[:dim] + x.shape[dim + 1 :]))
    return TABLE["unsqueeze"](product, dim) if keepdim else product


@acts_on("cumprod")
def _cumprod(point: Point, op: Op, x: Residue, dim: int, *settings: Any) -> Residue:
    parts = [TABLE["getitem"](x, (slice(None),) * (dim % x.ndim) + (i,)) for i in range(x.shape[dim])]
    if not parts:
        return x
    product: Residue = TABLE["stack"](list(accumulate(parts, times)), dim)
    return product


# Linear algebra, by elimination -----------------------------------------------------------------


@acts_on("linalg.inv")
def _inv(point: Point, op: Op, x: Residue) -> Residue:
    """The derivative of `inv(A)` is `-inv(A) @ dA @ inv(A)`."""
    n, prime = x.shape[-1], point.prime
    identity = np.broadcast_to(np.eye(n, dtype=np.int64), x.shape)
    value, _ = eliminate(x.value, identity, prime)
    tangent = None
    if x.tangent is not None:
        half = modular.bilinear(np.matmul, value, x.tangent, n, prime)
        tangent = (-modular.bilinear(np.matmul, half, value, n, prime)) % prime
    return Residue(point, value, tangent, _cramer(x.degree, n))


@acts_on("linalg.solve")
def _solve(point: Point, op: Op, a: Any, b: Any, left: bool = True) -> Residue:
    a, b = lift(point, a), lift(point, b)
    if not left or b.ndim == 1 or b.shape == a.shape[:-1]:
        raise Unsupported("linalg.solve of a vector, or from the right")
    return _matmul(point, op, _inv(point, op, a), b)


@acts_on("linalg.det")
def _det(point: Point, op: Op, x: Residue) -> Residue:
    """The derivative of `det(A)` is `det(A) * trace(inv(A) @ dA)` (Jacobi)."""
    n, prime = x.shape[-1], point.prime
    identity = np.broadcast_to(np.eye(n, dtype=np.int64), x.shape)
    inverted, value = eliminate(x.value, identity, prime)
    tangent = None
    if x.tangent is not None:
        product = modular.bilinear(np.matmul, inverted, x.tangent, n, prime)
        tangent = value * (np.trace(product, axis1=-2, axis2=-1) % prime) % prime
    return Residue(point, value, tangent, x.degree**n)


def _cramer(degree: Degree, n: int) -> Degree:
    """Of an inverse: minors over the determinant."""
    determinant = degree**n
    return Degree(max(0, determinant.top - degree.top) + determinant.bottom, determinant.top + determinant.bottom)


def eliminate(matrices: np.ndarray, right: np.ndarray, prime: int) -> tuple[np.ndarray, np.ndarray]:
    """`inv(matrices) @ right` and the determinants, by Gauss and Jordan's elimination without divisions by 0."""
    n = matrices.shape[-1]
    rows = np.concatenate([matrices, right], axis=-1).reshape(-1, n, n + right.shape[-1]).copy()
    determinant = np.ones(len(rows), dtype=np.int64)
    batch = np.arange(len(rows))
    for column in range(n):
        pivot = column + np.argmax(rows[:, column:, column] != 0, axis=1)
        swapped = pivot != column
        rows[batch, pivot], rows[:, column] = rows[:, column].copy(), rows[batch, pivot].copy()
        head = rows[:, column, column]
        determinant = determinant * np.where(swapped, prime - head, head) % prime
        rows[:, column] = rows[:, column] * modular.inverse(head, prime)[:, None] % prime
        factors = rows[:, :, column].copy()
        factors[:, column] = 0
        rows = (rows - factors[:, :, None] * rows[:, column, None, :]) % prime
    return rows[:, :, n:].reshape(right.shape), determinant.reshape(matrices.shape[:-2])
