"""Contractions: `einsum`, `tensordot`, `inner`, `kron`."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from string import ascii_letters
from typing import Any

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.dtype_sets import NUMBERS
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.common.dims import canonical_dims, require_integer
from gradcheck.autograd.ops.expansion import expand
from gradcheck.autograd.ops.shape_casts import reshape
from gradcheck.autograd.ops.transpose_flip import movedim, permute
from gradcheck.autograd.promotion import require_one_dtype
from gradcheck.errors import ArgumentError, ShapeMismatch

#: Below so many multiplications NumPy's plain loop beats the search for a better order.
_PLAIN_WORK = 4096


@lru_cache(maxsize=1024)
def explicit_labels(equation: str, ndims: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """Return labels of the operands and of the result, letters for `...`.

    Without `->`, the result has the ellipsis' dimensions, then the labels used once, sorted. As in torch, dimensions
    of an ellipsis that the result leaves out are summed. Raises ShapeMismatch for an invalid or unfitting equation.
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
    """Return `count` letters that the equation does not use."""
    letters = [letter for letter in ascii_letters if letter not in equation]
    if count > len(letters):
        raise ShapeMismatch(f"einsum: no letters are left for the {count} dimensions of '...' in {equation!r}")
    return "".join(letters[:count])


def _used_once(terms: str) -> str:
    letters = [letter for letter in terms if letter.isalpha()]
    return "".join(sorted(letter for letter in letters if letters.count(letter) == 1))


def _sizes(inputs: tuple[str, ...], shapes: list[tuple[int, ...]]) -> dict[str, int]:
    """Return each label's size; 1 broadcasts. Raises ShapeMismatch."""
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
    """Contract the cotangent with all other operands, for each operand.

    Source: Laue, Mitterreiter, Giesen: Computing higher order derivatives of matrix and tensor expressions, 2018.
    """
    inputs, output = explicit_labels(equation, tuple(x.ndim for x in operands))
    sizes = _sizes(inputs, [x.shape for x in operands])
    operands = [x if x.dtype == g.dtype else ops.to(x, g.dtype) for x in operands]
    return [_einsum_cotangent(g, inputs, output, operands, i, sizes) for i in range(len(operands))]


def _einsum_cotangent(
    g: Any, inputs: tuple[str, ...], output: str, operands: Any, which: int, sizes: dict[str, int]
) -> Any:
    others = [i for i in range(len(operands)) if i != which]
    x, labels = operands[which], "".join(dict.fromkeys(inputs[which]))
    known = "".join(c for c in labels if c in output or any(c in inputs[i] for i in others))
    left = ",".join([output, *(inputs[i] for i in others)])
    share = einsum(f"{left}->{known}", (g, *(operands[i] for i in others)))
    own = dict(zip(inputs[which], x.shape, strict=True))
    if any(own[c] < sizes[c] for c in known):  # x was broadcast along a size of 1
        share = ops.sum_to_size(share, tuple(min(own[c], share.shape[i]) for i, c in enumerate(known)))
    if known != labels:  # x alone has a label that was added up
        share = reshape(share, tuple(share.shape[known.index(c)] if c in known else 1 for c in labels))
    wanted = tuple(own[c] for c in labels)
    if share.shape != wanted:
        share = expand(share, wanted)
    return _embed_on_diagonals(share, labels, inputs[which])


def _embed_on_diagonals(share: Any, labels: str, wanted: str) -> Any:
    """Put distinct `labels` onto the diagonals of repeated ones in `wanted`."""
    for label in dict.fromkeys(wanted):
        for _ in range(wanted.count(label) - 1):
            at = labels.index(label)
            share = ops.diag_embed(movedim(share, at, -1))
            labels = labels[:at] + labels[at + 1 :] + 2 * label
    if labels == wanted:
        return share
    places = {label: [i for i, c in enumerate(labels) if c == label] for label in labels}
    return permute(share, tuple(places[label].pop() for label in wanted))


def _einsum_elements(equation: str, operands: Any) -> int:
    """The largest size on the way, joining from left to right as torch does."""
    inputs, output = explicit_labels(equation, tuple(x.ndim for x in operands))
    sizes = _sizes(inputs, [x.shape for x in operands])
    largest, joined = prod(sizes[label] for label in output), set(inputs[0])
    for place in range(1, len(inputs)):
        joined |= set(inputs[place])
        needed = set(output).union(*inputs[place + 1 :])
        largest = max(largest, prod(sizes[label] for label in joined & needed))
    return largest


@op(
    (None, _einsum_rule),
    sequence=1,
    numeric=True,
    variadic="tensors",
    method=False,
    elements=_einsum_elements,
    samples="""
        {}('ij,jk->ik', randn(2, 3), randn(3, 4)); {}('ij,jk', randn(2, 3), randn(3, 4));
        {}('bij,bjk->bik', [randn(5, 2, 3), randn(5, 3, 4)]);
        {}('...ij,...jk->...ik', randn(5, 1, 2, 3), randn(4, 3, 2)); {}('i,j,ij->', randn(2), randn(3), randn(2, 3));
        {}('ii->i', randn(3, 3)); {}('ii', randn(3, 3)); {}('iij,jk->ik', randn(2, 2, 3), randn(3, 4));
        {}('iii->i', randn(2, 2, 2)); {}('ijij->ji', randn(2, 3, 2, 3)); {}('ij->j', randn(2, 3));
        {}('ij,k->k', randn(2, 3), randn(4)); {}('ba', randn(2, 3)); {}('...', randn(2, 3));
        {}('i...->...', randn(2, 3)); {}('i...->i', randn(2, 3, 2)); {}('ij,ij->ij', randn(1, 3), randn(2, 1));
        {}('ij,jk->ik', randn(2, 1), randn(3, 4)); {}(', i -> i', randn(()), randn(3));
        {}('ij,jk->ik', randn(2, 0), randn(0, 3)); {}('ab,cb,cd->ad', randn(2, 3), randn(4, 3), randn(4, 2))
    """,
    analytic=True,
)
def einsum(equation: str, tensors: Any) -> Any:
    """Einstein summation: products summed over labels not in the result."""
    inputs, output = explicit_labels(equation, tuple(x.ndim for x in tensors))
    sizes = _sizes(inputs, [x.shape for x in tensors])
    if len(sizes) > len(output):
        require_one_dtype("einsum", *tensors)
    search = prod(sizes.values()) > _PLAIN_WORK
    return np.einsum(f"{','.join(inputs)}->{output}", *tensors, optimize=search)


def _contracted(a: Any, b: Any, dims: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the dimensions of `a` and of `b` that are contracted."""
    if isinstance(dims, (tuple, list)):
        if len(dims) != 2 or not all(isinstance(listed, (tuple, list)) for listed in dims):
            raise ArgumentError(f"tensordot takes a number of dimensions or two lists of them, not {dims}")
        return canonical_dims(dims[0], a.ndim), canonical_dims(dims[1], b.ndim)
    count = require_integer(dims, "the number of dimensions")
    if not 0 <= count <= min(a.ndim, b.ndim):
        raise ShapeMismatch(f"tensordot: {count} dimensions of {list(a.shape)} and {list(b.shape)}")
    return tuple(range(a.ndim - count, a.ndim)), tuple(range(count))


def _tensordot_elements(a: Any, b: Any, dims: Any) -> int:
    require_one_dtype("tensordot", a, b)
    first, second = _contracted(a, b, dims)
    kept = [n for i, n in enumerate(a.shape) if i not in first] + [n for j, n in enumerate(b.shape) if j not in second]
    return int(prod(kept))


@composite(
    method=False,
    elements=_tensordot_elements,
    dtypes={"a b": NUMBERS},
    samples="""
        {}(randn(2, 3, 4), randn(3, 4, 5)); {}(randn(2, 3), randn(3, 4), 1); {}(randn(2, 3), randn(4), dims=0);
        {}(randn(2, 3, 4), randn(4, 5, 2), dims=([0, -1], [2, 0]))
    """,
)
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """The last `dims` dimensions contracted with the first, or those listed."""
    require_one_dtype("tensordot", a, b)
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
    elements=lambda input, other: max(
        prod(input.shape[:-1]) * prod(other.shape[:-1]), prod(input.shape if input.ndim else other.shape)
    ),
    dtypes={"input other": NUMBERS},
    samples="""
        inner(randn(3), randn(3)); inner(randn(2, 3), randn(4, 3)); inner(randn(2, 3), randn(3));
        inner(randn(2, 3), randn(()))
    """,
)
def inner(input: Any, other: Any) -> Any:
    """Sums of products over the last dimensions, without conjugation."""
    if not input.ndim or not other.ndim:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise ShapeMismatch(f"inner: last dimensions of {list(input.shape)} and {list(other.shape)} differ")
    return tensordot(input, other, ((-1,), (-1,)))


@composite(
    elements=lambda input, other: prod(input.shape) * prod(other.shape),
    latex=r"# \otimes #",
    samples="kron(randn(2, 3), randn(4, 2)); kron(randn(2), randn(3, 2)); kron(randn(2, 1, 3), randn(2, 2))",
)
def kron(input: Any, other: Any) -> Any:
    """The Kronecker product: every element times the whole of `other`."""
    ndim = max(input.ndim, other.ndim)
    outside = (1,) * (ndim - input.ndim) + tuple(input.shape)
    inside = (1,) * (ndim - other.ndim) + tuple(other.shape)
    spaced = reshape(input, tuple(size for n in outside for size in (n, 1)))
    blocks = spaced * reshape(other, tuple(size for n in inside for size in (1, n)))
    return reshape(blocks, tuple(m * n for m, n in zip(outside, inside, strict=True)))
