"""Folding, rewriting and mentions of expressions.

Nothing here recurses, so a sum of ten thousand terms works like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from gradcheck.language.expr.nodes import Call, Derivative, Expr, Gradient, Name

R = TypeVar("R")
#: The most cached expressions, by identity; the cache keeps them, so that ids stay their own.
_KEPT = 4096


def postorder(root: Expr) -> Iterator[Expr]:
    """Yield the nodes of `root.walk()`, children before parents."""
    found: list[Expr] = []
    stack = [root]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(node.children)
    yield from reversed(found)


def distinct_nodes(*roots: Expr) -> Iterator[Expr]:
    """Yield each object of the expressions once."""
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            stack.extend(node.children)
            yield node


def use_counts(roots: Sequence[Expr]) -> Counter[int]:
    """Return the uses of each part by id; a root has one use more."""
    found = Counter(map(id, roots))
    for node in distinct_nodes(*roots):
        found.update(map(id, node.children))
    return found


def with_children(node: Expr, children: Sequence[Expr]) -> Expr:
    """Return the node over these children, itself if they are its own."""
    if all(new is old for new, old in zip(children, node.children, strict=True)):
        return node
    return node.rebuild(children)


def fold(root: Expr, combine: Callable[[Expr, list[R]], R], known: dict[int, tuple[Expr, R]] | None = None) -> R:
    """Return `combine(node, results of its children)` for the root.

    Each object is combined once, so the work is linear in the number of objects. `known` carries results between calls:
    by a node's id, the node (so that the id stays its own) and its result. A known node is not entered.
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
    """Return the expression with `change` applied to every node, leaves first.

    `change` gets a node with changed children, and returns it or a replacement. Each object changes once. If nothing
    changes, the root itself is returned.
    """
    return fold(root, lambda node, children: change(with_children(node, children)))


def substitute(root: Expr, written: Mapping[str, Expr]) -> Expr:
    """Return the expression with expressions in place of names."""
    return rewrite(root, lambda node: written.get(node.name, node) if isinstance(node, Name) else node)


def inline_steps(root: Expr, steps: Mapping[str, Expr]) -> Expr:
    """Return the expression without the steps, which may use those before.

    Objects are shared, so the work is linear in the steps."""
    written: dict[str, Expr] = {}
    for name, step in steps.items():
        written[name] = substitute(step, written)
    return substitute(root, written)


def replace_part(root: Expr, old: Expr, new: Expr) -> Expr:
    """Return the expression with one part, by identity, replaced."""
    return fold(root, with_children, {id(old): (old, new)})


def compares_with_itself(root: Expr) -> bool:
    """Return whether both sides of an `==` are the same expression."""
    numbers: dict[tuple[Any, ...], int] = {}
    equal: list[bool] = []

    def number(node: Expr, parts: list[int]) -> int:
        if isinstance(node, Call) and node.op == "eq":
            equal.append(parts[0] == parts[-1])
        return numbers.setdefault((type(node), node.label, *parts), len(numbers))

    fold(root, number)
    return any(equal)


class Mentions(NamedTuple):
    """The names, gradients, ops and derivatives in it, in reading order."""

    names: dict[str, int]
    gradients: dict[str, int]
    ops: dict[str, int]
    derivatives: dict[Derivative, int]


_mentioned: dict[int, tuple[Expr, Mentions]] = {}


def mentions(expr: Expr) -> Mentions:
    """Return the cached mentions; `grad(p)` does not mention the name `p`."""
    known = _mentioned.get(id(expr))
    if known is not None:
        return known[1]
    found = Mentions({}, {}, {}, {})
    for node in expr.walk():
        if type(node) is Call:
            found.ops.setdefault(node.op, node.at)
        elif type(node) is Name:
            found.names.setdefault(node.name, node.at)
        elif type(node) is Gradient:
            found.gradients.setdefault(node.name, node.at)
        elif type(node) is Derivative:
            found.derivatives.setdefault(node, node.at)
    if len(_mentioned) >= _KEPT:
        _mentioned.clear()
    _mentioned[id(expr)] = (expr, found)
    return found


def differing_parts(one: Expr, other: Expr) -> dict[tuple[Expr, Expr], None]:
    """Return the smallest tensors and calls in which expressions differ."""
    found, stack = dict[tuple[Expr, Expr], None](), [(one, other)]
    while stack:
        a, b = stack.pop()
        pairs = [pair for pair in zip(a.children, b.children, strict=False) if pair[0] != pair[1]]
        is_same = a.label == b.label and len(a.children) == len(b.children)
        if is_same and all(isinstance(part, (Call, Name, Gradient)) for pair in pairs for part in pair):
            stack += pairs
        else:
            found[a, b] = None
    return found


def free_names(expr: Expr) -> dict[str, int]:
    """Return the names that an expression uses."""
    return mentions(expr).names


def gradient_names(expr: Expr) -> dict[str, int]:
    """Return the names in its `grad(…)`s."""
    return mentions(expr).gradients


def derivatives_in(expr: Expr) -> dict[Derivative, int]:
    """Return its `jacobian(…)`s and `hessian(…)`s."""
    return mentions(expr).derivatives


def ops_in(expr: Expr) -> dict[str, int]:
    """Return the ops that it applies."""
    return mentions(expr).ops
