"""Products of matrices, of two lazily, and sums by Einstein's convention."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.ops.contraction import explicit
from gradcheck.errors import ShapeMismatch
from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.rules import exact_rule


@exact_rule("matmul", operands=(0, 1))
def matmul(a: Dual, b: Dual) -> Dual:
    """`a @ b`, with NumPy's rules for batches and vectors. Raises ShapeMismatch."""
    if a.shape[-1:] != b.shape[-2:][:1]:
        raise ShapeMismatch(f"a product of shapes {a.shape} and {b.shape}")
    if a.ndim == b.ndim == 2:
        return product(a, b)
    return _contract(np.matmul, a, b, max(a.shape[-1], 1))


def product(a: Dual, b: Dual) -> Dual:
    """Of two matrices, not multiplied out yet."""
    a_moves, b_moves = a.tangent_chain(), b.tangent_chain()
    left = None if a_moves is None else a_moves @ b.value_chain()
    right = None if b_moves is None else a.value_chain() @ b_moves
    tangent: Any = left or right
    if left and right:
        tangent = (left.dense() + right.dense()) % a.point.prime
    return Dual(a.point, a.value_chain() @ b.value_chain(), tangent, a.degree.times(b.degree).summed(a.shape[1]))


def _contract(form: Callable[[np.ndarray, np.ndarray], Any], a: Dual, b: Dual, terms: int) -> Dual:
    """A form that is linear in each of two arrays, and adds `terms` products into each element."""
    prime = a.point.prime
    value = modular.bilinear(form, a.value, b.value, terms, prime)
    tangent: np.ndarray | None = None
    if a.tangent is not None:
        tangent = modular.bilinear(form, a.tangent, b.value, terms, prime)
    if b.tangent is not None:
        right = modular.bilinear(form, a.value, b.tangent, terms, prime)
        tangent = right if tangent is None else (tangent + right) % prime
    return Dual(a.point, value, tangent, a.degree.times(b.degree).summed(terms))


@exact_rule("einsum", operands=())
def _einsum(equation: str, factors: list[Dual]) -> Dual:
    """Two operands at a time, from the left."""
    inputs, output = explicit(equation, tuple(x.ndim for x in factors))
    labels, result = inputs[0], factors[0]
    if len(factors) == 1:
        return _einsum_of_one(f"{labels}->{output}", result)
    for place, factor in enumerate(factors[1:], 1):
        needed = set(output).union(*inputs[place + 1 :])
        last = place == len(factors) - 1
        kept = output if last else "".join(c for c in dict.fromkeys(labels + inputs[place]) if c in needed)
        result = _einsum_of_two(labels, inputs[place], kept, result, factor)
        labels = kept
    return result


def _einsum_of_two(first: str, second: str, output: str, a: Dual, b: Dual) -> Dual:
    sizes: dict[str, int] = {}
    for labels, shape in ((first, a.shape), (second, b.shape)):
        for label, size in zip(labels, shape, strict=True):
            sizes[label] = max(size, sizes.get(label, 1)) if size else 0
    terms = prod(size for label, size in sizes.items() if label not in output)
    equation = f"{first},{second}->{output}"
    return _contract(lambda x, y: np.einsum(equation, x, y, optimize=True), a, b, max(1, terms))


def _einsum_of_one(equation: str, x: Dual) -> Dual:
    value = modular.reduce(np.einsum(equation, x.value), x.point.prime)
    tangent = None if x.tangent is None else modular.reduce(np.einsum(equation, x.tangent), x.point.prime)
    return Dual(x.point, value, tangent, x.degree.summed(max(1, x.value.size // max(1, value.size))))
