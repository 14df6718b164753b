"""Products that contract chosen dimensions: `einsum`, `tensordot`, `kron`, chains of matrices."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import prod
from string import ascii_letters
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE, composite, op
from gradcheck.autograd.ops.dims import canonical_all, integer
from gradcheck.autograd.ops.order import movedim, permute
from gradcheck.autograd.ops.products import matmul
from gradcheck.autograd.ops.shape import expand, reshape, unsqueeze
from gradcheck.autograd.promotion import require_one_dtype
from gradcheck.errors import ArgumentError, ShapeMismatch

#: Below so many multiplications NumPy's plain loop beats the search for a better order.
_PLAIN_WORK = 4096


@lru_cache(maxsize=1024)
def explicit(equation: str, ndims: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """The labels of each operand and of the result, with letters for `...`.

    Without `->`, the result has the ellipsis' dimensions, then the labels used once, sorted. As in torch, dimensions
    of an ellipsis that the result leaves out are added up. Raises ShapeMismatch for what is no such equation, and
    where it does not fit the operands.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise ShapeMismatch(f"einsum: the equation {equation!r} has {len(terms)} operands, {len(ndims)} were given")
    for term in (*terms, right):
        letters = term.replace("...", "", 1)
        if letters and not (letters.isalpha() and letters.isascii()):
            raise ShapeMismatch(f"einsum: {term!r} in {equation!r} is not made of letters and one '...'")
    widths = [ndim - len(term.replace("...", "")) for term, ndim in zip(terms, ndims, strict=True)]
    for term, width, ndim in zip(terms, widths, ndims, strict=True):
        if width < 0 or (width and "..." not in term):
            raise ShapeMismatch(f"einsum: {term!r} in {equation!r} does not fit an operand with {ndim} dimensions")
    dots = _spare(equation, max(widths))
    inputs = tuple(t.replace("...", dots[len(dots) - w :]) for t, w in zip(terms, widths, strict=True))
    output = right.replace("...", dots) if arrow else dots + _used_once(left)
    if len(set(output)) < len(output) or not set(output) <= set("".join(inputs)):
        raise ShapeMismatch(f"einsum: the result's labels in {equation!r} must differ, and occur in an operand")
    return inputs, output


def _spare(equation: str, count: int) -> str:
    """So many letters that the equation does not use."""
    letters = [letter for letter in ascii_letters if letter not in equation]
    if count > len(letters):
        raise ShapeMismatch(f"einsum: no letters are left for the {count} dimensions of '...' in {equation!r}")
    return "".join(letters[:count])


def _used_once(terms: str) -> str:
    letters = [letter for letter in terms if letter.isalpha()]
    return "".join(sorted(letter for letter in letters if letters.count(letter) == 1))


def _sizes(inputs: tuple[str, ...], shapes: list[tuple[int, ...]]) -> dict[str, int]:
    """The size of each label; 1 is broadcast against any other. Raises ShapeMismatch."""
    sizes: dict[str, int] = {}
    for labels, shape in zip(inputs, shapes, strict=True):
        own: dict[str, int] = {}
        for label, size in zip(labels, shape, strict=True):
            if own.setdefault(label, size) != size:
                raise ShapeMismatch(f"einsum: the repeated label {label!r} has sizes {own[label]} and {size}")
            known = sizes.get(label, 1)
            if known != size and 1 not in (known, size):
                raise ShapeMismatch(f"einsum: the label {label!r} has sizes {known} and {size}")
            sizes[label] = size if known == 1 else known
    return sizes


def _einsum_rule(g: Any, y: Any, equation: str, operands: Any) -> list[Any]:
    """For each operand, the contraction of the cotangent with all the others."""
    inputs, output = explicit(equation, tuple(x.ndim for x in operands))
    sizes = _sizes(inputs, [x.shape for x in operands])
    operands = [x if x.dtype == g.dtype else TABLE["to"](x, g.dtype) for x in operands]
    return [_einsum_share(g, inputs, output, operands, i, sizes) for i in range(len(operands))]


def _einsum_share(
    g: Any, inputs: tuple[str, ...], output: str, operands: Any, which: int, sizes: dict[str, int]
) -> Any:
    others = [i for i in range(len(operands)) if i != which]
    x, labels = operands[which], "".join(dict.fromkeys(inputs[which]))
    known = "".join(c for c in labels if c in output or any(c in inputs[i] for i in others))
    left = ",".join([output, *(inputs[i] for i in others)])
    share = einsum(f"{left}->{known}", (g, *(operands[i] for i in others)))
    own = dict(zip(inputs[which], x.shape, strict=True))
    if any(own[c] < sizes[c] for c in known):  # x was broadcast along a size of 1
        share = TABLE["sum_to_size"](share, tuple(min(own[c], share.shape[i]) for i, c in enumerate(known)))
    if known != labels:  # x alone has a label that was added up
        share = reshape(share, tuple(share.shape[known.index(c)] if c in known else 1 for c in labels))
    wanted = tuple(own[c] for c in labels)
    return _on_diagonals(share if share.shape == wanted else expand(share, wanted), labels, inputs[which])


def _on_diagonals(share: Any, labels: str, wanted: str) -> Any:
    """From the distinct `labels` to `wanted`, in which some are repeated: onto diagonals, with zeros around."""
    for label in dict.fromkeys(wanted):
        for _ in range(wanted.count(label) - 1):
            at = labels.index(label)
            share = TABLE["diag_embed"](movedim(share, at, -1))
            labels = labels[:at] + labels[at + 1 :] + 2 * label
    if labels == wanted:
        return share
    places = {label: [i for i, c in enumerate(labels) if c == label] for label in labels}
    return permute(share, tuple(places[label].pop() for label in wanted))


def _einsum_size(equation: str, operands: Any) -> int:
    inputs, output = explicit(equation, tuple(x.ndim for x in operands))
    sizes = _sizes(inputs, [x.shape for x in operands])
    return prod(sizes[label] for label in output)


@op(
    (None, _einsum_rule),
    sequence=1,
    variadic="tensors",
    method=False,
    elements=_einsum_size,
    samples=(
        "einsum('ij,jk->ik', randn(2, 3), randn(3, 4))",
        "einsum('ij,jk', randn(2, 3), randn(3, 4))",
        "einsum('bij,bjk->bik', [randn(5, 2, 3), randn(5, 3, 4)])",
        "einsum('...ij,...jk->...ik', randn(5, 1, 2, 3), randn(4, 3, 2))",
        "einsum('i,j,ij->', randn(2), randn(3), randn(2, 3))",
        "einsum('ii->i', randn(3, 3))",
        "einsum('ii', randn(3, 3))",
        "einsum('iij,jk->ik', randn(2, 2, 3), randn(3, 4))",
        "einsum('iii->i', randn(2, 2, 2))",
        "einsum('ijij->ji', randn(2, 3, 2, 3))",
        "einsum('ij->j', randn(2, 3))",
        "einsum('ij,k->k', randn(2, 3), randn(4))",
        "einsum('ba', randn(2, 3))",
        "einsum('...', randn(2, 3))",
        "einsum('i...->...', randn(2, 3))",
        "einsum('i...->i', randn(2, 3, 2))",
        "einsum('ij,ij->ij', randn(1, 3), randn(2, 1))",
        "einsum('ij,jk->ik', randn(2, 1), randn(3, 4))",
        "einsum(', i -> i', randn(()), randn(3))",
        "einsum('ij,jk->ik', randn(2, 0), randn(0, 3))",
        "einsum('ab,cb,cd->ad', randn(2, 3), randn(4, 3), randn(4, 2))",
    ),
    analytic=True,
)
def einsum(equation: str, tensors: Any) -> Any:
    """Einstein's summation: products of elements, added up over the labels that the result leaves out."""
    inputs, output = explicit(equation, tuple(x.ndim for x in tensors))
    sizes = _sizes(inputs, [x.shape for x in tensors])
    if len(sizes) > len(output):
        require_one_dtype("einsum", *tensors)
    search = prod(sizes.values()) > _PLAIN_WORK
    return np.einsum(f"{','.join(inputs)}->{output}", *tensors, optimize=search)


def _contracted(a: Any, b: Any, dims: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(dims, (tuple, list)):
        if len(dims) != 2:
            raise ArgumentError(f"tensordot takes a number of dimensions or two lists of them, not {dims}")
        return canonical_all(dims[0], a.ndim), canonical_all(dims[1], b.ndim)
    count = integer(dims, "the number of dimensions")
    if not 0 <= count <= min(a.ndim, b.ndim):
        raise ShapeMismatch(f"tensordot: {count} dimensions of {list(a.shape)} and {list(b.shape)}")
    return tuple(range(a.ndim - count, a.ndim)), tuple(range(count))


def _tensordot_size(a: Any, b: Any, dims: Any) -> int:
    first, second = _contracted(a, b, dims)
    kept = [n for i, n in enumerate(a.shape) if i not in first] + [n for j, n in enumerate(b.shape) if j not in second]
    return int(prod(kept))


@composite(
    method=False,
    elements=_tensordot_size,
    samples=(
        "tensordot(randn(2, 3, 4), randn(3, 4, 5))",
        "tensordot(randn(2, 3), randn(3, 4), 1)",
        "tensordot(randn(2, 3), randn(4), dims=0)",
        "tensordot(randn(2, 3, 4), randn(4, 5, 2), dims=([0, -1], [2, 0]))",
    ),
)
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Contracts the last `dims` dimensions of `a` with the first of `b`, or the two lists of dimensions given."""
    first, second = _contracted(a, b, dims)
    if len(first) != len(second):
        raise ShapeMismatch(f"tensordot: {len(first)} dimensions of one against {len(second)} of the other")
    if a.ndim + b.ndim > len(ascii_letters):
        raise ArgumentError(f"tensordot takes at most {len(ascii_letters)} dimensions in all")
    left, right = ascii_letters[: a.ndim], list(ascii_letters[a.ndim : a.ndim + b.ndim])
    for i, j in zip(first, second, strict=True):
        right[j] = left[i]
    kept = [c for i, c in enumerate(left) if i not in first] + [c for j, c in enumerate(right) if j not in second]
    return einsum(f"{left},{''.join(right)}->{''.join(kept)}", (a, b))


@composite(
    elements=lambda input, other: max(prod(input.shape[:-1]) * prod(other.shape[:-1]), prod(input.shape)),
    samples=(
        "inner(randn(3), randn(3))",
        "inner(randn(2, 3), randn(4, 3))",
        "inner(randn(2, 3), randn(3))",
        "inner(randn(2, 3), randn(()))",
    ),
)
def inner(input: Any, other: Any) -> Any:
    """Sums of products over the last dimensions of both; nothing is conjugated."""
    if not input.ndim or not other.ndim:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise ShapeMismatch(f"inner: last dimensions of {list(input.shape)} and {list(other.shape)} differ")
    return tensordot(input, other, ((-1,), (-1,)))


@composite(
    elements=lambda input, other: prod(input.shape) * prod(other.shape),
    samples=("kron(randn(2, 3), randn(4, 2))", "kron(randn(2), randn(3, 2))", "kron(randn(2, 1, 3), randn(2, 2))"),
)
def kron(input: Any, other: Any) -> Any:
    """Kronecker's product: every element of `input` times the whole of `other`, block by block."""
    ndim = max(input.ndim, other.ndim)
    outside = (1,) * (ndim - input.ndim) + tuple(input.shape)
    inside = (1,) * (ndim - other.ndim) + tuple(other.shape)
    spaced = reshape(input, tuple(size for n in outside for size in (n, 1)))
    blocks = spaced * reshape(other, tuple(size for n in inside for size in (1, n)))
    return reshape(blocks, tuple(m * n for m, n in zip(outside, inside, strict=True)))


def _cheapest(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each product of matrices i to j, of `sizes[i]` by `sizes[i + 1]`, for the fewest operations.

    Cormen, Leiserson, Rivest, Stein: Introduction to Algorithms, 15.2.
    """
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    best: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            best[i, j] = min(costs, key=costs.__getitem__)
            cost[i, j] = costs[best[i, j]]
    return best


def _chained(matrices: list[Any]) -> Any:
    split = _cheapest([matrices[0].shape[0], *(m.shape[1] for m in matrices)])
    needed, stack = [], [(0, len(matrices) - 1)]
    while stack:
        i, j = stack.pop()
        if i < j:
            needed.append((i, j))
            stack += [(i, split[i, j]), (split[i, j] + 1, j)]
    done = {(i, i): m for i, m in enumerate(matrices)}
    for i, j in sorted(needed, key=lambda pair: pair[1] - pair[0]):
        done[i, j] = matmul(done[i, split[i, j]], done[split[i, j] + 1, j])
    return done[0, len(matrices) - 1]


@composite(
    name="linalg.multi_dot",
    method=False,
    samples=(
        "linalg.multi_dot([randn(2, 3), randn(3, 4), randn(4, 2)])",
        "linalg.multi_dot([randn(3), randn(3, 4), randn(4, 2), randn(2)])",
        "linalg.multi_dot([randn(2, 3), randn(3)])",
    ),
)
def multi_dot(tensors: Any) -> Any:
    """The product of matrices, in the order that takes the fewest operations; the ends may be vectors."""
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
    product = _chained(matrices)
    return reshape(product, tuple(product.shape[int(row) : 2 - int(column)])) if row or column else product
