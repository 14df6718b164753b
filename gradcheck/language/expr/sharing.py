"""What occurs more than once in formulas, written once: as the steps of a derivation, a case's `let`.

A gradient uses its cotangent, and the values of the forward pass, again and again; without names for them, the text of
a formula would grow exponentially with the depth of an expression.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from gradcheck.language.expr.nodes import Call, Expr, Name
from gradcheck.language.expr.traverse import with_children

#: A part of fewer nodes is no clearer for having a name.
LEAST = 8


class Derivation(NamedTuple):
    """Steps in order, each of which may use those above it, and formulas that use them."""

    let: dict[str, Expr]
    formulas: dict[str, Expr]


def share(formulas: Mapping[str, Expr], taken: Collection[str] = (), least: int = LEAST) -> Derivation:
    """The same formulas, with steps for all parts of at least `least` nodes that occur more than once.

    Steps are named `t1`, `t2`, … where those names are not `taken`. Linear in the number of different parts.
    """
    parts = _Parts()
    roots = {name: parts.add(formula) for name, formula in formulas.items()}
    uses = [0] * len(parts.nodes)
    for index in (*roots.values(), *(child for children in parts.children for child in children)):
        uses[index] += 1
    names = (name for name in _numbered() if name not in taken)
    let: dict[str, Expr] = {}
    written: list[Expr] = []
    for node, children, count, size in zip(parts.nodes, parts.children, uses, parts.sizes, strict=True):
        expr = with_children(node, [written[child] for child in children])
        if count > 1 and size >= least and isinstance(node, Call):
            name = next(names)
            let[name] = expr
            expr = Name(name)
        written.append(expr)
    return Derivation(let, {name: written[index] for name, index in roots.items()})


def sizes(formulas: Mapping[str, Expr]) -> dict[str, int]:
    """How many nodes each formula has as a tree, the way it is printed; found without walking over all of them."""
    parts = _Parts()
    return {name: parts.sizes[parts.add(formula)] for name, formula in formulas.items()}


class _Parts:
    """The different parts of expressions, children before parents."""

    def __init__(self) -> None:
        self.nodes: list[Expr] = []
        self.children: list[tuple[int, ...]] = []
        self.sizes: list[int] = []  # as trees
        self._by_content: dict[object, int] = {}
        self._by_identity: dict[int, int] = {}
        self._kept: list[Expr] = []  # so that an id stays its own

    def add(self, root: Expr) -> int:
        """The index of an expression, once everything below it has one."""
        known = self._by_identity
        stack = [root]
        while stack:
            node = stack[-1]
            below = node.children
            missing = [child for child in below if id(child) not in known]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            if id(node) not in known:
                known[id(node)] = self._intern(node, tuple(known[id(child)] for child in below))
                self._kept.append(node)
        return known[id(root)]

    def _intern(self, node: Expr, children: tuple[int, ...]) -> int:
        key = (type(node), node.label, children)
        index = self._by_content.setdefault(key, len(self.nodes))
        if index == len(self.nodes):
            self.nodes.append(node)
            self.children.append(children)
            self.sizes.append(1 + sum(self.sizes[child] for child in children))
        return index


def _numbered() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"t{number}"
