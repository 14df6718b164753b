"""Walking over expressions, and making something of them: the one place with a stack for it.

Nothing here recurses, so that a sum of ten thousand terms is handled like any other. It knows of a node only that it
has `children` and can be built anew `over` others, and stands below `nodes`, which compares and hashes by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar, cast

Node = TypeVar("Node", bound="Tree[Any]", covariant=True)
N = TypeVar("N", bound="Tree[Any]")
R = TypeVar("R")


class Tree(Protocol[Node]):
    """What can be walked over: an expression."""

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes right below, in reading order."""
        ...

    def over(self, children: Sequence[Any]) -> Node:
        """The same kind of node over other children, as many as it has."""
        ...


def walk(root: Tree[N]) -> Iterator[N]:
    """The root and everything below it in reading order, parents first; what occurs twice comes twice."""
    stack = [cast(N, root)]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def postorder(root: Tree[N]) -> Iterator[N]:
    """The same nodes in reading order with children before parents: the order in which they are computed."""
    found: list[N] = []
    stack = [cast(N, root)]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(node.children)
    yield from reversed(found)


def with_children(node: Tree[N], children: Sequence[N]) -> N:
    """The same kind of node over these children; the node itself, if it has just these already."""
    if all(new is old for new, old in zip(children, node.children, strict=True)):
        return cast(N, node)
    return node.over(children)


def fold(root: Tree[N], combine: Callable[[N, list[R]], R], known: dict[int, tuple[N, R]] | None = None) -> R:
    """What `combine(node, results of its children)` makes of the root, computed from the leaves up.

    Each object is combined once, however often it occurs, so the work is linear in the number of different objects.
    `known` carries results from one call to the next: by a node's id the node, which keeps the id its own, and what
    was made of it; a node that is already there is not looked into.
    """
    done = {} if known is None else known
    stack = [cast(N, root)]
    while stack:
        node = stack[-1]
        missing = [] if id(node) in done else [child for child in node.children if id(child) not in done]
        if missing:
            stack.extend(reversed(missing))
            continue
        stack.pop()
        if id(node) not in done:
            done[id(node)] = (node, combine(node, [done[id(child)][1] for child in node.children]))
    return done[id(root)][1]


def rewrite(root: Tree[N], change: Callable[[N], N]) -> N:
    """The expression with `change` applied to every node from the leaves up, to each object once.

    `change` is given a node whose children are changed already, and returns it or what stands in its place. Where
    nothing changes, the root itself comes back.
    """
    return fold(root, lambda node, children: change(with_children(node, children)))


def replace_part(root: Tree[N], old: N, new: N) -> N:
    """The expression with one of its parts, told by identity, replaced; `old` is not looked into."""
    return fold(root, lambda node, children: with_children(node, children), {id(old): (old, new)})
