"""An expression as a list of its nodes, for recursive code such as pickle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from gradcheck.language.expr.nodes import (
    Attribute,
    Call,
    Expr,
    Literal,
    Named,
    Sequence,
    Slice,
)

#: Children before parents: a node's kind, its own fields and its number of children; or the number of an earlier node
#: that occurs again.
NodeList: TypeAlias = "list[tuple[type[Expr], tuple[Any, ...], int] | int]"


def to_node_list(root: Expr, shares: bool = True) -> NodeList:
    """Return the nodes of an expression.

    If it `shares`, a repeated node is listed once; then equal expressions may have different lists.
    """
    found: NodeList = []
    numbers: dict[int, int] = {}
    todo: list[tuple[Expr, bool]] = [(root, False)]
    while todo:
        node, is_ready = todo.pop()
        if is_ready:
            numbers[id(node)] = len(numbers)
            found.append((type(node), _own_fields(node), len(node.children)))
        elif shares and id(node) in numbers:
            found.append(numbers[id(node)])
        else:
            todo.append((node, True))
            todo += [(child, False) for child in reversed(node.children)]
    return found


def from_node_list(flat: NodeList) -> Expr:
    """Return the expression of a list from `to_node_list`."""
    made: list[Expr] = []
    stack: list[Expr] = []
    for what in flat:
        if isinstance(what, int):
            stack.append(made[what])
            continue
        kind, own, count = what
        start = len(stack) - count
        made.append(_rebuild_node(kind, own, stack[start:]))
        stack[start:] = made[-1:]
    return stack[0]


def _own_fields(node: Expr) -> tuple[Any, ...]:
    match node:
        case Call(op, args, kwargs):
            return op, len(args), tuple([key for key, _ in kwargs]), node.at
        case Named(name) | Attribute(_, name):
            return name, node.at
        case Literal(value):
            return value, node.at
        case Sequence(_, is_tuple):
            return is_tuple, node.at
        case Slice():
            return *node.label, node.at
        case _:
            raise TypeError(f"{type(node).__name__} is no expression")


def _rebuild_node(kind: type[Expr], own: tuple[Any, ...], children: list[Expr]) -> Expr:
    *said, at = own
    made: Any = kind
    if kind is Call:
        op, count, keys = said
        pairs = tuple(zip(keys, children[count:], strict=True))
        return Call(op, tuple(children[:count]), pairs, at=at)
    if kind is Sequence:
        return Sequence(tuple(children), *said, at=at)
    if kind is Slice:
        rest: Iterator[Expr] = iter(children)
        return Slice(*(None if is_missing else next(rest) for is_missing in said), at=at)
    found: Expr = made(*children, *said, at=at)
    return found
