"""Products of matrices, of two of them lazily."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.errors import ShapeMismatch
from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.rules import exact_rule


@exact_rule("matmul", operands=(0, 1))
def matmul(a: Dual, b: Dual) -> Dual:
    """`a @ b`, with NumPy's rules for batches and vectors. Raises ShapeMismatch."""
    left, right = a.shape, b.shape
    if left[-1:] != right[-2:][:1]:
        raise ShapeMismatch(f"a product of shapes {left} and {right}")
    if len(left) == len(right) == 2:
        return product(a, b)
    return contract(np.matmul, a, b, max(left[-1], 1))


def product(a: Dual, b: Dual) -> Dual:
    """Of two matrices, not multiplied out yet."""
    x, y, a_moves, b_moves = a.value_chain(), b.value_chain(), a.tangent_chain(), b.tangent_chain()
    left = None if a_moves is None else a_moves @ y
    right = None if b_moves is None else x @ b_moves
    tangent: Any = left or right
    if left and right:
        tangent = (left.dense() + right.dense()) % a.point.prime
    return Dual(a.point, x @ y, tangent, a.degree.times(b.degree).summed(x.shape[1]))


def contract(form: Callable[[np.ndarray, np.ndarray], Any], a: Dual, b: Dual, terms: int) -> Dual:
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
