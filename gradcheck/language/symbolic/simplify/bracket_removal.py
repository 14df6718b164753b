"""Removal of brackets that a person would not write.

For example `2 * (A.T @ e)` becomes `2 * A.T @ e`, `-(A @ x)` becomes `-A @ x`, and `A @ (x / n)` becomes `A @ x / n`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeGuard

from gradcheck.language.expr.nodes import Call, Expr, Literal
from gradcheck.language.expr.traverse import fold, use_counts, with_children
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.product import is_call


def drop_brackets(formulas: Mapping[str, Expr], know: PartProperties) -> dict[str, Expr]:
    """Return the formulas with fewer brackets; shared products stay whole."""
    roots = {name: know.pool.intern(formula) for name, formula in formulas.items()}
    times = use_counts(list(roots.values()))

    def is_part(node: Expr, op: str) -> TypeGuard[Call]:
        return is_call(node, op, 2) and times[id(node)] < 2

    def spell(old: Expr, children: list[Expr]) -> Expr:
        node = with_children(old, children)
        if (
            is_call(node, "matmul", 2)
            and is_part(old.children[1], "div")
            and know.is_number(old.children[1].children[1])
        ):
            right = node.args[1]
            return Call("div", (Call("matmul", (node.args[0], right.children[0])), right.children[1]))
        if is_call(node, "mul", 2) and know.ndim(old.children[1]) == 0 and not know.is_scalar(old.children[0]):
            return _scalar_first(node.args[1], node.args[0])
        is_scaled = is_call(node, "mul", 2) and know.is_scalar(old.children[0])
        if not (is_scaled or is_call(node, "neg", 1)) or times[id(old.children[-1])] > 1:
            return node
        return _scaled(node.children[-1], lambda first: node.rebuild([*node.children[:-1], first])) or node

    known: dict[int, tuple[Expr, Expr]] = {}
    return {name: fold(root, spell, known) for name, root in roots.items()}


def _scaled(product: Expr, change: Callable[[Expr], Expr]) -> Expr | None:
    """Return a matrix product, perhaps over a number, with a new first factor."""
    if is_call(product, "div", 2) and is_call(product.args[0], "matmul", 2):
        above = _scaled(product.args[0], change)
        return None if above is None else Call("div", (above, product.args[1]))
    if not is_call(product, "matmul", 2):
        return None
    rest = []
    while is_call(product, "matmul", 2):
        rest.append(product.args[1])
        product = product.args[0]
    found = change(product)
    for factor in reversed(rest):
        found = Call("matmul", (found, factor))
    return found


def _scalar_first(scalar: Expr, product: Expr) -> Expr:
    """Return `s * x`, or `2 * s * x` if the product begins with a number."""
    if is_call(product, "mul", 2) and isinstance(product.args[0], Literal):
        return Call("mul", (Call("mul", (product.args[0], scalar)), product.args[1]))
    return Call("mul", (scalar, product))
