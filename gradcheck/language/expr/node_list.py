"""An expression as a list of its nodes, for recursive code such as pickle."""

from __future__ import annotations

from typing import Any, TypeAlias

from gradcheck.language.expr.nodes import Call, Expr, Literal, Sequence, Slice

#: Children before parents: a node's kind, its label or value, its column and its number of children; or the number of
#: an earlier node that occurs again.
NodeList: TypeAlias = "list[tuple[type[Expr], tuple[Any, ...], int, int] | int]"


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
            label = (node.value,) if isinstance(node, Literal) else node.label
            found.append((type(node), label, node.at, len(node.children)))
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
        kind, label, at, count = what
        start = len(stack) - count
        made.append(_rebuild_node(kind, label, at, stack[start:]))
        stack[start:] = made[-1:]
    return stack[0]


def _rebuild_node(kind: Any, label: tuple[Any, ...], at: int, children: list[Expr]) -> Expr:
    if kind is Call:
        op, count, *keys = label
        return Call(op, tuple(children[:count]), tuple(zip(keys, children[count:], strict=True)), at=at)
    if kind is Sequence:
        return Sequence(tuple(children), label[0], at=at)
    if kind is Slice:
        rest = iter(children)
        return Slice(*(None if is_missing else next(rest) for is_missing in label), at=at)
    found: Expr = kind(*children, *label, at=at)
    return found
