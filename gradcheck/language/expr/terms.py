"""The terms of a sum, each with its sign."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import reduce
from itertools import islice
from typing import TypeAlias, TypeGuard

from gradcheck.autograd.families import MATRIX_PRODUCTS
from gradcheck.language.expr.nodes import Call, Expr, Literal
from gradcheck.language.expr.traverse import rewrite

#: A term and its sign, 1 or -1.
Term: TypeAlias = tuple[Expr, int]


def is_sum(node: Expr) -> TypeGuard[Call]:
    """Return whether a node is `x + y` or `x - y`."""
    return isinstance(node, Call) and node.op in ("add", "sub") and len(node.args) == 2 and not node.kwargs


def signed_terms(
    root: Expr, is_term: Callable[[Expr], bool] = lambda node: False, products: Collection[str] = ()
) -> Iterator[Term]:
    """Yield the terms of a sum from left to right.

    Args:
        is_term: whether a sum within the sum counts as one term.
        products: ops that are multiplied out where a factor is a sum: `a * (b - c)` is `a * b` and `-(a * c)`.
    """
    stack = [(root, 1)]
    while stack:
        node, sign = stack.pop()
        if products and isinstance(node, Call) and node.op in products:
            node = _multiplied_out(node)
        if is_sum(node) and (node is root or not is_term(node)):
            left, right = node.args
            stack += [(right, sign if node.op == "add" else -sign), (left, sign)]
        elif isinstance(node, Call) and node.op == "neg" and (node is root or not is_term(node)):
            stack.append((node.args[0], -sign))
        else:
            yield node, sign


def at_most(count: int, terms: Iterator[Term]) -> list[Term] | None:
    """Return the terms; None if there are more."""
    found = list(islice(terms, count + 1))
    return found if len(found) <= count else None


def total_of(terms: Iterable[Term]) -> Expr:
    """Return the sum of terms, those that are added first."""
    first, *others = sorted(terms, key=lambda term: -term[1])
    start = first[0] if first[1] > 0 else negative(first[0])
    return reduce(lambda total, term: Call("add" if term[1] > 0 else "sub", (total, term[0])), others, start)


def split_sign(expr: Expr) -> tuple[int, Expr]:
    """Return the sign of a product's first factor, and the product without it."""
    spine: list[Call] = []
    node = expr
    while isinstance(node, Call) and node.op in ("mul", "div", *MATRIX_PRODUCTS) and len(node.args) == 2:
        spine.append(node)
        node = node.args[0]
    if isinstance(node, Literal) and isinstance(node.value, (int, float)) and node.value < 0:
        node = Literal(-node.value)
    elif isinstance(node, Call) and node.op == "neg":
        node = node.args[0]
    else:
        return 1, expr
    for call in reversed(spine):
        node = Call(call.op, (node, call.args[1]), call.kwargs)
    return -1, node


def left_to_right(expr: Expr) -> Expr:
    """Return `a * b * c` for `a * (b * c)`."""

    def one(node: Expr) -> Expr:
        if not isinstance(node, Call) or node.op != "mul" or len(node.args) != 2:
            return node
        first, product = node.args
        if not isinstance(product, Call) or product.op != "mul":
            return node
        return Call("mul", (Call("mul", (first, product.children[0])), product.children[1]))

    return rewrite(expr, one)


def _multiplied_out(node: Call) -> Call:
    """Return `a * b - a * c` for `a * (b - c)`, and `-(a * b)` for `a * -b`."""
    for index, factor in enumerate(node.args[: 1 if node.op == "div" else 2]):
        if is_sum(factor) or (isinstance(factor, Call) and factor.op == "neg"):
            before, after = node.args[:index], node.args[index + 1 :]
            terms = (Call(node.op, (*before, part, *after), node.kwargs) for part in factor.args)
            return Call(factor.op, tuple(map(_without_one, terms)))
    return node


def _without_one(term: Call) -> Expr:
    """Return `a` for `a * 1` and `1 * a`."""
    rest = [factor for factor in term.args if factor != Literal(1)]
    return rest[0] if term.op == "mul" and len(rest) == 1 else term


def negative(expr: Expr) -> Expr:
    """Return a product or quotient with its first factor negated."""
    match expr:
        case Call("mul" | "div", (first, *others)):
            return Call(expr.op, (negative(first), *others))
        case Literal(int() | float() as number):
            return Literal(-number)
        case _:
            return Call("neg", (expr,))
