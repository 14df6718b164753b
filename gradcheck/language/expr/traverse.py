"""Making something of expressions: folded, rewritten, and what names they mention. (`Expr.walk` goes over them.)

Nothing here recurses, so that a sum of ten thousand terms is handled like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from gradcheck.language.expr.nodes import Call, Expr, Gradient, Name

R = TypeVar("R")
#: What is known of so many expressions at most, by identity; they are kept, so an id is its expression's own.
_KEPT = 4096


def postorder(root: Expr) -> Iterator[Expr]:
    """The nodes of `root.walk()` with children before parents: the order in which they are computed."""
    found: list[Expr] = []
    stack = [root]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(node.children)
    yield from reversed(found)


def distinct_nodes(*roots: Expr) -> Iterator[Expr]:
    """The objects that expressions are made of, each once, however often it occurs."""
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            stack.extend(node.children)
            yield node


def use_counts(roots: Sequence[Expr]) -> Counter[int]:
    """By its id, how many parts of some formulas use each part of them; a root is used once more."""
    found = Counter(map(id, roots))
    for node in distinct_nodes(*roots):
        found.update(map(id, node.children))
    return found


def with_children(node: Expr, children: Sequence[Expr]) -> Expr:
    """The same kind of node over these children; the node itself, if it has just these already."""
    if all(new is old for new, old in zip(children, node.children, strict=True)):
        return node
    return node.rebuild(children)


def fold(root: Expr, combine: Callable[[Expr, list[R]], R], known: dict[int, tuple[Expr, R]] | None = None) -> R:
    """What `combine(node, results of its children)` makes of the root, computed from the leaves up.

    Each object is combined once, however often it occurs, so the work is linear in the number of different objects.
    `known` carries results from one call to the next: by a node's id the node, which keeps the id its own, and what
    was made of it; a node that is already there is not looked into.
    """
    done = {} if known is None else known
    stack = [root]
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


def rewrite(root: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with `change` applied to every node from the leaves up, to each object once.

    `change` is given a node whose children are changed already, and returns it or what stands in its place. Where
    nothing changes, the root itself comes back.
    """
    return fold(root, lambda node, children: change(with_children(node, children)))


def substitute(root: Expr, written: Mapping[str, Expr]) -> Expr:
    """The expression with what is written in place of names."""
    return rewrite(root, lambda node: written.get(node.name, node) if isinstance(node, Name) else node)


def replace_part(root: Expr, old: Expr, new: Expr) -> Expr:
    """The expression with one of its parts, told by identity, replaced; `old` is not looked into."""
    return fold(root, with_children, {id(old): (old, new)})


class Mentions(NamedTuple):
    """What an expression mentions, in reading order."""

    names: dict[str, int]
    gradients: dict[str, int]
    ops: dict[str, int]


_mentioned: dict[int, tuple[Expr, Mentions]] = {}


def mentions(expr: Expr) -> Mentions:
    """All that an expression mentions, looked for once. `grad(p)` mentions the gradient of `p`, and not the name."""
    known = _mentioned.get(id(expr))
    if known is not None:
        return known[1]
    found = Mentions({}, {}, {})
    for node in expr.walk():
        if type(node) is Call:
            found.ops.setdefault(node.op, node.at)
        elif type(node) is Name:
            found.names.setdefault(node.name, node.at)
        elif type(node) is Gradient:
            found.gradients.setdefault(node.name, node.at)
    if len(_mentioned) >= _KEPT:
        _mentioned.clear()
    _mentioned[id(expr)] = (expr, found)
    return found


def free_names(expr: Expr) -> dict[str, int]:
    """The names that it uses."""
    return mentions(expr).names


def gradient_names(expr: Expr) -> dict[str, int]:
    """The names in its `grad(…)`s."""
    return mentions(expr).gradients


def ops_in(expr: Expr) -> dict[str, int]:
    """The ops that it applies."""
    return mentions(expr).ops
