"""The entries of a small Jacobian, from the terms of a linear map."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Literal, Name
from gradcheck.language.expr.nodes import Sequence as Items
from gradcheck.language.expr.terms import split_sign, total_of
from gradcheck.language.expr.traverse import mentions, rewrite
from gradcheck.language.symbolic.term_forms import ShapeOf, Term

#: Ops that move the elements of their first operand.
_MOVING = ("getitem", "roll", "flip", "T", "mT")


def entries_of(
    terms: Sequence[Term],
    rows: tuple[int, ...],
    columns: tuple[int, ...],
    sizes: Mapping[int | None, int],
    shape_of: ShapeOf,
) -> Expr:
    """Return `tensor([[…], …])`, or the list of a number's gradient."""
    found = []
    for row in np.ndindex(*rows):
        entries = ([*_products(terms, (*row, column), sizes, shape_of)] for column in range(*columns))
        found.append(Items(tuple(total_of(one) if one else Literal(0.0) for one in entries)))
    return Call("tensor", (Items(tuple(found)) if rows else found[0],))


def _products(
    terms: Sequence[Term], place: tuple[int, ...], sizes: Mapping[int | None, int], shape_of: ShapeOf
) -> Iterator[tuple[Expr, int]]:
    """Yield the products that an entry is the sum of, with their signs."""
    for term in terms:
        rank = len(place) - len(term.out)
        fixed: dict[int | None, int] = dict(enumerate(place[:rank]))
        columns = zip(term.out, place[rank:], strict=True)
        if any(letter is not None and fixed.setdefault(letter, at) != at for letter, at in columns):
            continue
        inner = list(dict.fromkeys(one for letters, _ in term.factors for one in letters if one not in fixed))
        for at in np.ndindex(*(sizes[letter] for letter in inner)):
            where, number, factors = {**fixed, **dict(zip(inner, at, strict=True))}, float(term.sign), list[Expr]()
            elements = (_element(one, tuple(where[at] for at in letters), shape_of) for letters, one in term.factors)
            for sign, part in map(split_sign, (*term.scale, *elements)):
                value: Any = part.value if isinstance(part, Literal) else 1
                number *= sign * value
                factors += [] if isinstance(part, Literal) else [part]
            if number:
                size = abs(number)
                whole = Literal(int(size) if factors and size == int(size) else size)
                parts = factors if factors and size == 1 else [whole, *factors]
                found = reduce(lambda one, other: Call("mul", (one, other)), parts)
                yield reduce(lambda one, other: Call("div", (one, other)), term.divisor, found), int(np.sign(number))


def _element(expr: Expr, place: tuple[int, ...], shape_of: ShapeOf) -> Expr:
    """Return an element of a tensor, such as `cos(x[0])` of `cos(x)`."""
    shape = shape_of(expr)
    if not shape or isinstance(expr, Literal):
        return expr
    place = tuple(at if size != 1 else 0 for at, size in zip(place[-len(shape) :], shape, strict=True))
    plain = rewrite(expr, lambda node: _listed(shape_of(node.value)) if isinstance(node, Attribute) else node)
    if not mentions(plain).names and not mentions(plain).gradients:
        return Literal(float(np.asarray(evaluate(plain, {}))[place]))
    if isinstance(plain, Call) and plain.op in _MOVING and not any(mentions(arg).names for arg in plain.args[1:]):
        numbers = np.arange(prod(shape_of(expr.children[0]))).reshape(shape_of(expr.children[0]))
        moved = evaluate(Call(plain.op, (Name("x"), *plain.args[1:]), plain.kwargs), {"x": numbers})
        return _element(expr.children[0], tuple(map(int, np.unravel_index(moved[place], numbers.shape))), shape_of)
    if isinstance(expr, Call) and TABLE[expr.op].elementwise and not expr.kwargs:
        return Call(expr.op, tuple(_element(arg, place, shape_of) for arg in expr.args))
    return Call("getitem", (expr, Literal(place[0]) if len(place) == 1 else _listed(place)))


def _listed(numbers: tuple[int, ...]) -> Expr:
    return Items(tuple(map(Literal, numbers)), True)
