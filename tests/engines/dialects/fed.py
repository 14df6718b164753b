"""Graphs of named leaves, whose numbers come with each run; gradients are further nodes of the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class Node:
    def __init__(self) -> None:
        self.operands: tuple[Any, ...] = ()
        self.rule: Any = None

    def __add__(self, other: Any) -> Any:
        return applied(np.add, (self, other), lambda g, a, b: (g, g))

    def __mul__(self, other: Any) -> Any:
        return applied(np.multiply, (self, other), lambda g, a, b: (g * b, g * a))


def variable(name: str) -> Node:
    assert isinstance(name, str)
    return Node()


def applied(function: Callable[..., Any], operands: tuple[Any, ...], rule: Callable[..., Any]) -> Node:
    made = Node()
    made.function, made.operands, made.rule = function, operands, rule  # type: ignore[attr-defined]
    return made


def matmul_op(a: Any, b: Any) -> Node:
    return applied(np.matmul, (a, b), lambda g, a, b: (matmul_op(g, turned(b)), matmul_op(turned(a), g)))


def turned(a: Any) -> Node:
    return applied(np.transpose, (a,), lambda g, a: (turned(g),))


def gradients(root: Node, leaves: Sequence[Node]) -> list[Any]:
    order: list[Node] = []

    def visit(node: Node) -> None:
        if node not in order:
            for operand in node.operands:
                visit(operand)
            order.append(node)

    visit(root)
    arrived: dict[Node, Any] = {root: applied(np.ones_like, (root,), lambda g, a: (g,))}
    for node in reversed(order):
        shares = node.rule(arrived[node], *node.operands) if node.rule is not None else ()
        for operand, share in zip(node.operands, shares, strict=True):
            arrived[operand] = put_together(arrived[operand], share) if operand in arrived else share
    return [arrived[leaf] for leaf in leaves]


def put_together(first: Any, second: Any) -> Any:
    return first + second


class Executor:
    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes

    def run(self, feed_dict: Any) -> list[Any]:
        def value(node: Node) -> Any:
            if node in feed_dict:
                return feed_dict[node]
            return node.function(*map(value, node.operands))  # type: ignore[attr-defined]

        return [value(node) for node in self.nodes]
