"""Sums by Einstein's convention."""

from __future__ import annotations

from math import prod

import numpy as np

from gradcheck.autograd.ops.contraction import explicit
from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.dual import Dual
from gradcheck.oracles.exact.ops.matrix_products import contract
from gradcheck.oracles.exact.rules import exact_rule


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
    return contract(lambda x, y: np.einsum(equation, x, y, optimize=True), a, b, max(1, terms))


def _einsum_of_one(equation: str, x: Dual) -> Dual:
    value = modular.reduce(np.einsum(equation, x.value), x.point.prime)
    tangent = None if x.tangent is None else modular.reduce(np.einsum(equation, x.tangent), x.point.prime)
    return Dual(x.point, value, tangent, x.degree.summed(max(1, x.value.size // max(1, value.size))))
