"""How products of matrices and Einstein's sums act on residues."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE, Op
from gradcheck.autograd.ops.common.dims import axes
from gradcheck.autograd.ops.contraction import explicit
from gradcheck.errors import ShapeMismatch
from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.degree import CONSTANT
from gradcheck.oracles.exact.dual import Residue, acts_on, lift
from gradcheck.oracles.exact.ops.layout import linear
from gradcheck.oracles.exact.point import Point


@acts_on("matmul")
def multiply(point: Point, op: Op, a: Any, b: Any) -> Residue:
    a, b = lift(point, a), lift(point, b)
    if a.shape[-1:] != b.shape[-2:][:1]:
        raise ShapeMismatch(f"a product of shapes {a.shape} and {b.shape}")
    if a.ndim == b.ndim == 2:
        return product(a, b)
    return contract(np.matmul, a, b, max(a.shape[-1], 1))


def matmul(a: Residue, b: Residue) -> Residue:
    return multiply(a.point, TABLE["matmul"], a, b)


def product(a: Residue, b: Residue) -> Residue:
    """Of two matrices, not multiplied out yet."""
    a_moves, b_moves = a.tangent_chain(), b.tangent_chain()
    left = None if a_moves is None else a_moves @ b.chain()
    right = None if b_moves is None else a.chain() @ b_moves
    tangent: Any = left or right
    if left and right:
        tangent = (left.dense() + right.dense()) % a.point.prime
    return Residue(a.point, a.chain() @ b.chain(), tangent, a.degree.times(b.degree).summed(a.shape[1]))


def chained(x: Residue, left: np.ndarray | None = None, right: np.ndarray | None = None) -> Residue:
    """A matrix between two others that are constant."""
    if left is not None:
        x = product(Residue(x.point, left, None, CONSTANT), x)
    return x if right is None else product(x, Residue(x.point, right, None, CONSTANT))


def sum_of_chain(op: Op, x: Residue, dim: Any, keepdim: bool) -> Residue:
    run = axes(dim, x.ndim)
    rows, columns = x.shape
    left = np.ones((1, rows), dtype=np.int64) if 0 in run else None
    right = np.ones((columns, 1), dtype=np.int64) if 1 in run else None
    total = chained(x, left, right)
    return total if keepdim else TABLE["reshape"](total, tuple(n for i, n in enumerate(x.shape) if i not in run))


@acts_on("T", "mT", "transpose")
def _transpose(point: Point, op: Op, x: Residue, *dims: int) -> Residue:
    if x.ndim != 2 or (dims and dims[0] % 2 == dims[1] % 2):
        return linear(point, op, x, *dims)
    tangent = x.tangent_chain()
    return Residue(point, x.chain().T, None if tangent is None else tangent.T, x.degree)


Form = Callable[[np.ndarray, np.ndarray], Any]


def contract(form: Form, a: Residue, b: Residue, terms: int) -> Residue:
    """A bilinear form that adds `terms` products into each element, by the product rule."""
    prime = a.point.prime
    value = modular.bilinear(form, a.value, b.value, terms, prime)
    left = None if a.tangent is None else modular.bilinear(form, a.tangent, b.value, terms, prime)
    right = None if b.tangent is None else modular.bilinear(form, a.value, b.tangent, terms, prime)
    both = left is not None and right is not None
    tangent = (left + right) % prime if both else right if left is None else left  # type: ignore[operator]
    return Residue(a.point, value, tangent, a.degree.times(b.degree).summed(terms))


@acts_on("einsum")
def _einsum(point: Point, op: Op, equation: str, operands: Any) -> Residue:
    """Two operands at a time, from the left."""
    factors = [lift(point, operand) for operand in operands]
    inputs, output = explicit(equation, tuple(x.ndim for x in factors))
    labels, result = inputs[0], factors[0]
    if len(factors) == 1:
        return _einsum_of_one(f"{labels}->{output}", result)
    for place, factor in enumerate(factors[1:], 1):
        needed = {*output, *(label for later in inputs[place + 1 :] for label in later)}
        last = place == len(factors) - 1
        kept = output if last else "".join(c for c in dict.fromkeys(labels + inputs[place]) if c in needed)
        result = _einsum_of_two(labels, inputs[place], kept, result, factor)
        labels = kept
    return result


def _einsum_of_two(first: str, second: str, output: str, a: Residue, b: Residue) -> Residue:
    sizes: dict[str, int] = {}
    for labels, shape in ((first, a.shape), (second, b.shape)):
        for label, size in zip(labels, shape, strict=True):
            sizes[label] = max(size, sizes.get(label, 1)) if size else 0
    terms = prod(size for label, size in sizes.items() if label not in output)
    equation = f"{first},{second}->{output}"
    return contract(lambda x, y: np.einsum(equation, x, y, optimize=True), a, b, max(1, terms))


def _einsum_of_one(equation: str, x: Residue) -> Residue:
    value = modular.reduce(np.einsum(equation, x.value), x.point.prime)
    tangent = None if x.tangent is None else modular.reduce(np.einsum(equation, x.tangent), x.point.prime)
    return Residue(x.point, value, tangent, x.degree.summed(max(1, x.value.size // max(1, value.size))))
