"""A product of tensors with letters as a matrix product or an einsum."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from string import ascii_lowercase
from typing import NamedTuple, TypeAlias

from gradcheck.errors import Unsupported
from gradcheck.language.expr.nodes import Call, Expr, Literal, Slice
from gradcheck.language.expr.nodes import Sequence as Items

#: The shape of an expression.
ShapeOf: TypeAlias = Callable[[Expr], tuple[int, ...]]
#: The letter of each dimension, None for a dimension of size 1.
Letters: TypeAlias = tuple[int | None, ...]
#: Factors by the letters of their dimensions.
_Factors: TypeAlias = dict[Letters, Expr]
#: A slice that takes all.
FULL = (Slice(), Slice(Literal(None), Literal(None)))
#: The letters of results and of sums in an einsum.
_OF_RESULT, _OF_SUMS = ascii_lowercase[8:], ascii_lowercase[:8]


class Term(NamedTuple):
    """A product whose dimensions are `out`.

    `factors` are tensors by the letters of their dimensions; letters of neither `out` nor g are summed. It is negative
    if `sign` is -1, and times `scale`, over `divisor`. It `selects` if it takes entries by their places.
    """

    out: Letters
    factors: tuple[tuple[Letters, Expr], ...] = ()
    sign: int = 1
    scale: tuple[Expr, ...] = ()
    divisor: tuple[Expr, ...] = ()
    selects: bool = False


def written(term: Term, rows: Iterable[int], columns: Sequence[Expr], sizes: Mapping[int, Expr]) -> Expr:
    """Return a term without its sign, of rows and of its own dimensions.

    `columns` are the sizes of the latter, `sizes` those of the letters. Raises Unsupported for too many letters."""
    results, known, factors = [*rows], {**sizes}, _Factors()
    for letters, factor in term.factors:
        _join(factors, letters, factor)
    for axis, letter in enumerate(term.out):
        own = len(known) if letter is None or letter in results else letter
        if letter is not None and own != letter:
            _join(factors, (letter, own), Call("eye", (known[letter],)))
        known[own] = columns[axis]
        results.append(own)
    while _contracts_one(factors, results):
        pass
    scale = [*term.scale, *([factors.pop(())] if () in factors else [])]
    found = _as_matrix(factors, results, known) if len(results) == 2 else None
    found = found or _as_einsum(factors, results, known)
    if scale:
        found = Call("mul", (reduce(lambda one, other: Call("mul", (one, other)), scale), found))
    return reduce(lambda one, part: Call("div", (one, part)), term.divisor, found)


def squeezed(factor: Expr, axis: int, rank: int) -> Expr:
    """Return a tensor without a dimension of size 1."""
    match factor:
        case Call("sum" | "mean" as op, (inner,), (("dim", Literal(int(dim))), ("keepdim", _))) if dim % rank == axis:
            return Call(op, (inner,), (("dim", Literal(dim)),))
        case Call("getitem", (inner, Items(items))) if len(items) == rank and items[axis] == Literal(None):
            rest = items[:axis] + items[axis + 1 :]
            return inner if all(one in FULL for one in rest) else Call("getitem", (inner, Items(rest, True)))
    return Call("squeeze", (factor, Literal(axis)))


def transposed(expr: Expr) -> Expr:
    """Return the transpose of a matrix."""
    match expr:
        case Call("T" | "mT" | "t", (inner,)):
            return inner
        case Call("neg", (inner,)):
            return Call("neg", (transposed(inner),))
    return expr if isinstance(expr, Call) and expr.op == "eye" else Call("T", (expr,))


def _join(factors: _Factors, letters: tuple[int | None, ...], factor: Expr) -> None:
    """Multiply a factor in, elementwise where another has its letters."""
    is_turned = isinstance(factor, Call) and factor.op in ("T", "mT")
    if len(letters) == 2 and (letters[::-1] in factors or (is_turned and letters not in factors)):
        letters, factor = letters[::-1], transposed(factor)
    factors[letters] = factor if letters not in factors else Call("mul", (factors[letters], factor))


def _contracts_one(factors: _Factors, results: Sequence[int]) -> bool:
    """Sum over a letter of one matrix and vector; return whether one was."""
    for letter in dict.fromkeys(letter for letters in factors for letter in letters if letter not in results):
        uses = [letters for letters in factors if letter in letters]
        matrices = [letters for letters in uses if len({*letters}) == 2]
        if len(matrices) > 1 or len(uses) != len(matrices) + ((letter,) in factors):
            continue
        vector = factors.pop((letter,), None)
        for place in matrices:
            matrix, at = factors.pop(place), place.index(letter)
            side = Call("sum", (matrix,), (("dim", Literal(at)),))
            if vector is not None:
                side = Call("matmul", (transposed(matrix) if at == 0 else matrix, vector))
            _join(factors, (place[1 - at],), side)
        if not matrices and vector is not None:
            is_product = isinstance(vector, Call) and vector.op == "mul"
            _join(factors, (), Call("matmul", vector.children) if is_product else Call("sum", (vector,)))
        return True
    return False


def _as_matrix(factors: _Factors, results: Sequence[int], sizes: Mapping[int, Expr]) -> Expr | None:
    """Return a product of matrices and diagonals; None if it is none."""
    edges = {letters: factor for letters, factor in factors.items() if len(letters) > 1}
    vectors = {letters[0]: factor for letters, factor in factors.items() if len(letters) == 1}
    if not edges:
        return Call("outer", tuple(vectors.get(letter) or Call("ones", (sizes[letter],)) for letter in results))
    if len(edges) == 1 and all(transposed(one) is one for one in edges.values()):  # the identity
        both = [vectors[letter] for letter in results if letter in vectors]
        return Call("diag", (reduce(lambda a, b: Call("mul", (a, b)), both),)) if both else next(iter(edges.values()))
    at: int | None = results[0]
    parts = list[Expr]()
    while True:
        parts += [Call("diag", (vectors.pop(at),))] if at in vectors else []
        onward = [letters for letters in edges if at in letters]
        if at == results[1] or len(onward) != 1 or len(onward[0]) != 2:
            break
        factor, (left, right) = edges.pop(onward[0]), onward[0]
        parts.append(factor if left == at else transposed(factor))
        at = right if left == at else left
    is_chain = at == results[1] and not edges and not vectors
    return reduce(lambda one, part: Call("matmul", (one, part)), parts) if is_chain else None


def _as_einsum(factors: _Factors, results: Sequence[int], sizes: Mapping[int, Expr]) -> Expr:
    """Return the product, with ones for a letter that no factor has."""
    used, rank = {letter for letters in factors for letter in letters}, len(results)
    known: _Factors = {**factors, **{(one,): Call("ones", (sizes[one],)) for one in results if one not in used}}
    if not known or [*known] == [tuple(results)]:
        return next(iter(known.values()), Literal(1.0))
    known = dict(sorted(known.items(), key=lambda one: min((*map(results.index, {*one[0]} & {*results}), rank))))
    inner = dict.fromkeys(letter for letters in known for letter in letters if letter not in results)
    names = dict(zip((*results, *inner), _OF_RESULT[:rank] + _OF_SUMS, strict=False))
    if len(names) < rank + len(inner):
        raise Unsupported("a product of so many dimensions is not written")
    operands = ["".join(names[letter] for letter in letters) for letters in known]
    pattern = f"{','.join(operands)}->{''.join(names[letter] for letter in results)}"
    return Call("einsum", (Literal(pattern), *known.values()))
