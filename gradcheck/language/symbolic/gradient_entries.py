"""Gradients as entries of a graph; the entries of a small Jacobian."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.language.case import Case, Claim, Step
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Gradient, Literal, Name
from gradcheck.language.expr.nodes import Sequence as Items
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.terms import split_sign, total_of
from gradcheck.language.expr.traverse import gradient_names, mentions, rewrite
from gradcheck.language.problem import Problem
from gradcheck.language.symbolic.symbolic_gradients import derive_gradients
from gradcheck.language.symbolic.term_forms import ShapeOf, Term

#: Ops that move the elements of their first operand.
_MOVING = ("getitem", "roll", "flip", "T", "mT")


def gradients_of(problem: Problem, root: str, wanted: Iterable[str] | None = None) -> dict[str, Expr]:
    """Return the gradients of a one-element root, those that others use first.

    All, or only the `wanted` and those that they use; none for a tensor that the root does not depend on. Raises
    NonScalarBackward, NoGradRequired, Unsupported."""
    case = replace(problem.case, steps=(Step("backward", roots={root: None}),))
    derived = derive_gradients(replace(problem, case=case, seeds=({root: None},), forwards=({},)), most=None)
    return _uses_first(derived, derived if wanted is None else wanted)


def _uses_first(derived: Mapping[str, Expr], wanted: Iterable[str]) -> dict[str, Expr]:
    found: dict[str, Expr] = {}
    stack = [name for name in wanted if name in derived][::-1]
    while stack:
        name = stack[-1]
        missing = [one for one in gradient_names(derived[name]) if one not in found and one != name]
        if missing and name not in found:
            stack += missing
            continue
        stack.pop()
        found.setdefault(name, derived[name])
    return found


def with_gradients(case: Case, problem: Problem, root: str, wanted: Iterable[str]) -> tuple[Case, dict[str, str]]:
    """Return the case with entries for a root's gradients, and their names."""
    taken = {*problem.sizes, *case.dims, *case.inputs, *case.constants, *case.graph, *case.let}
    graph, names = dict(case.graph), dict[str, str]()
    wanted = list(dict.fromkeys(wanted))
    for tensor, expr in gradients_of(problem, root, wanted).items():
        names[tensor] = _free_name(f"d_{root}_d_{tensor}", taken)
        graph[names[tensor]] = Claim.of(with_names(expr, names))
    for tensor in wanted:
        if tensor not in names:
            names[tensor] = _free_name(f"d_{root}_d_{tensor}", taken)
            graph[names[tensor]] = Claim.of(Call("zeros_like", (tensor_expr(tensor),)))
    return replace(case, graph=graph), names


def with_names(expr: Expr, names: Mapping[str, str]) -> Expr:
    """Return the expression with entries in place of gradients."""
    return rewrite(expr, lambda node: Name(names[node.name]) if isinstance(node, Gradient) else node)


def tensor_expr(tensor: str) -> Expr:
    """Return the expression of `x` or `m[0]`."""
    return parse(tensor)


def _free_name(name: str, taken: set[str]) -> str:
    """Return a name that no tensor has, and take it."""
    name = name.replace("[", "_").replace("]", "")
    while name in taken:
        name += "_"
    taken.add(name)
    return name


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
