"""Products of matrices, of two of them lazily; inverses, determinants."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.ops.contraction import explicit_labels
from gradcheck.errors import ShapeMismatch
from gradcheck.oracles.exact import modular_arithmetic
from gradcheck.oracles.exact.degree import PIECEWISE
from gradcheck.oracles.exact.dual_numbers import Dual, exact_rule
from gradcheck.oracles.exact.modular_matrices import MatrixChain
from gradcheck.oracles.exact.uninterpreted_functions import chain_rule, uninterpreted


@exact_rule("matmul", operands=(0, 1))
def matmul(a: Dual, b: Dual) -> Dual:
    """Return `a @ b` by NumPy's rules for batches. Raises ShapeMismatch."""
    left, right = a.shape, b.shape
    if left[-1:] != right[-2:][:1]:
        raise ShapeMismatch(f"a product of shapes {left} and {right}")
    if len(left) == len(right) == 2:
        return product(a, b)
    return contract(np.matmul, a, b, max(left[-1], 1))


def product(a: Dual, b: Dual) -> Dual:
    """Return the product of two matrices, not multiplied yet."""
    x, y, tangent = a.value_chain(), b.value_chain(), None
    if a.lazy_tangent is not None or b.lazy_tangent is not None:
        tangent = _product_tangent(x, y, a.tangent_chain(), b.tangent_chain())
    return Dual(a.point, x @ y, tangent, a.degree.times(b.degree).summed(x.shape[1]))


def _product_tangent(x: MatrixChain, y: MatrixChain, a_moves: MatrixChain | None, b_moves: MatrixChain | None) -> Any:
    left = None if a_moves is None else a_moves @ y
    right = None if b_moves is None else x @ b_moves
    if left is not None and right is not None:
        return left.plus(right)
    return left if right is None else right


def contract(form: Callable[[np.ndarray, np.ndarray], Any], a: Dual, b: Dual, terms: int) -> Dual:
    """Apply a bilinear form that adds `terms` products into each element."""
    prime = a.point.prime
    value = modular_arithmetic.bilinear(form, a.value, b.value, terms, prime)
    tangent: np.ndarray | None = None
    if a.tangent is not None:
        tangent = modular_arithmetic.bilinear(form, a.tangent, b.value, terms, prime)
    if b.tangent is not None:
        right = modular_arithmetic.bilinear(form, a.value, b.tangent, terms, prime)
        tangent = right if tangent is None else (tangent + right) % prime
    return Dual(a.point, value, tangent, a.degree.times(b.degree).summed(terms))


@exact_rule("einsum", operands=())
def _einsum(equation: str, factors: list[Dual]) -> Dual:
    """Contract two operands at a time, from the left."""
    inputs, output = explicit_labels(equation, tuple(x.ndim for x in factors))
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
    return contract(lambda x, y: np.einsum(equation, x, y, optimize=True), a, b, max(1, terms))


def _einsum_of_one(equation: str, x: Dual) -> Dual:
    value = modular_arithmetic.reduce(np.einsum(equation, x.value), x.point.prime)
    tangent = None if x.tangent is None else modular_arithmetic.reduce(np.einsum(equation, x.tangent), x.point.prime)
    return Dual(x.point, value, tangent, x.degree.summed(max(1, x.value.size // max(1, value.size))))


@exact_rule("linalg.inv")
def inverse(x: Dual) -> Dual:
    """Return `inv(A)`, with the derivative `-inv(A) @ dA @ inv(A)`."""
    n, prime = x.shape[-1], x.point.prime
    value, _ = invert(x.value, prime)
    tangent = None
    if x.tangent is not None:
        half = modular_arithmetic.bilinear(np.matmul, value, x.tangent, n, prime)
        tangent = (-modular_arithmetic.bilinear(np.matmul, half, value, n, prime)) % prime
    return Dual(x.point, value, tangent, x.degree.inverse_matrix(n))


def invert(matrices: np.ndarray, prime: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inverses and determinants of shape (…, n, n) and (…)."""
    n, batch = matrices.shape[-1], prod(matrices.shape[:-2])
    identity = np.broadcast_to(np.eye(n, dtype=np.int64), matrices.shape)
    rows = np.concatenate([matrices, identity], axis=-1).reshape(batch, n, 2 * n)
    determinants = np.ones(batch, dtype=np.int64)
    each = np.arange(batch)
    for column in range(n):
        pivot = column + np.argmax(rows[:, column:, column] != 0, axis=1)
        swapped = pivot != column
        rows[each, pivot], rows[:, column] = rows[:, column].copy(), rows[each, pivot].copy()
        head = rows[:, column, column]
        determinants = determinants * np.where(swapped, prime - head, head) % prime
        rows[:, column] = rows[:, column] * modular_arithmetic.inverse(head, prime)[:, None] % prime
        factors = rows[:, :, column].copy()
        factors[:, column] = 0
        rows = (rows - factors[:, :, None] * rows[:, column, None, :]) % prime
    return rows[:, :, n:].reshape(matrices.shape), determinants.reshape(matrices.shape[:-2])


@exact_rule("linalg.solve", operands=(0, 1))
def _solve(a: Dual, b: Dual, left: bool = True) -> Dual:
    """Return `inv(A) @ B`, or `B @ inv(A)`."""
    inverted = inverse(a)
    if b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]):
        column: Dual = matmul(inverted, b.unsqueeze(-1)).squeeze(-1)
        return column
    return matmul(inverted, b) if left else matmul(b, inverted)


@exact_rule("linalg.det")
def determinant(x: Dual) -> Dual:
    """Return `det(A)`, with Jacobi's `det(A) * trace(inv(A) @ dA)`."""
    n, prime = x.shape[-1], x.point.prime
    inverted, value = invert(x.value, prime)
    tangent = None
    if x.tangent is not None:
        slopes = modular_arithmetic.bilinear(np.matmul, inverted, x.tangent, n, prime)
        tangent = value * (np.trace(slopes, axis1=-2, axis2=-1) % prime) % prime
    return Dual(x.point, value, tangent, x.degree.determinant(n))


@exact_rule("logabsdet")
def _logabsdet(x: Dual) -> Dual:
    """Return a logarithm, with the derivative of `det(A)` divided by it."""
    found = determinant(x)
    return chain_rule(found, uninterpreted("log(abs(x))", found), found.primal().reciprocal)


@exact_rule("det_sign")
def _det_sign(x: Dual) -> Dual:
    """Return an uninterpreted number with the derivative 0."""
    found = uninterpreted("sign of a determinant", determinant(x.primal()))
    return Dual(x.point, found.value, None, found.degree._replace(kinds=found.degree.kinds | PIECEWISE))


def _cofactors(x: Dual) -> tuple[Dual, Dual]:
    """Return the cofactors `det(A) * inv(A).mT`, and `inv(A).mT`."""
    transposed: Dual = inverse(x).mT
    return transposed * determinant(x)[..., None, None], transposed


exact_rule("cofactors")(lambda x: _cofactors(x)[0])


@exact_rule("det_hessian", operands=(0, 1))
def _det_hessian(x: Dual, direction: Dual) -> Dual:
    """Return `<G, B> C - B @ G.mT @ C`, B = inv(A).mT, C the cofactors."""
    cofactors, b = _cofactors(x)
    along: Dual = (direction * b).sum((-2, -1), True)
    return along * cofactors - matmul(matmul(b, direction.mT), cofactors)
