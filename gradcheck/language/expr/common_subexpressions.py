"""Common parts of formulas: found as one object, written as named steps.

A gradient uses its cotangent, and forward values, many times. Without names for them, the text of a formula would grow
exponentially with the depth of an expression.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from itertools import count
from typing import NamedTuple

from gradcheck.language.expr.nodes import Attribute, Call, Expr, Name
from gradcheck.language.expr.traverse import fold, substitute, with_children

#: The least nodes of a part with a name; fewer suffice after `MANY_USES` uses.
MIN_STEP_NODES, MANY_USES, MIN_MANY_USES_NODES = 8, 3, 3


class InternPool:
    """Expressions in which equal parts are one object ("hash consing").

    `parts` are the distinct ones, children before parents. Linear in their number.
    """

    def __init__(self) -> None:
        self.parts: list[Expr] = []
        self._by_content: dict[object, Expr] = {}
        self._known: dict[int, tuple[Expr, Expr]] = {}

    def intern(self, root: Expr) -> Expr:
        """Return the one expression that equals this one."""
        return fold(root, self._intern_node, self._known)

    def _intern_node(self, node: Expr, children: list[Expr]) -> Expr:
        key = (type(node), node.label, *map(id, children))
        if key not in self._by_content:
            self._by_content[key] = made = with_children(node, children)
            self.parts.append(made)
        return self._by_content[key]


class Derivation(NamedTuple):
    """Steps in order (a case's `let`) and formulas that use them."""

    let: dict[str, Expr]
    formulas: dict[str, Expr]


def extract_steps(formulas: Mapping[str, Expr], taken: Collection[str] = (), least: int = MIN_STEP_NODES) -> Derivation:
    """Return the formulas with steps for repeated parts of many nodes.

    A part of at least `least` nodes becomes a step if it occurs twice, a smaller one if it occurs `MANY_USES` times.
    Steps are named `t1`, `t2`, …, except names in `taken`.
    """
    pool = InternPool()
    roots = {name: pool.intern(formula) for name, formula in formulas.items()}
    steps = _steps(pool, list(roots.values()), least)
    names = (name for name in (f"t{number}" for number in count(1)) if name not in taken)
    let: dict[str, Expr] = {}
    written: dict[int, Expr] = {}
    for part in pool.parts:
        expr = with_children(part, [written[id(child)] for child in part.children])
        if id(part) in steps:
            name = next(names)
            let[name] = expr
            expr = Name(name)
        written[id(part)] = expr
    return Derivation(let, {name: written[id(root)] for name, root in roots.items()})


def without_steps(derivation: Derivation, most: int) -> dict[str, Expr]:
    """Return the formulas of at most so many nodes with steps written out.

    Steps that each use the one before twice make a formula of exponential length, which is never built."""
    sizes: dict[str, int] = {}
    written: dict[str, Expr] = {}

    def size(expr: Expr) -> int:
        return sum(sizes.get(node.name, 1) if isinstance(node, Name) else 1 for node in expr.walk())

    for name, step in derivation.let.items():
        sizes[name] = size(step)
        if sizes[name] <= most:
            written[name] = substitute(step, written)
    return {name: substitute(expr, written) for name, expr in derivation.formulas.items() if size(expr) <= most}


def _steps(pool: InternPool, roots: list[Expr], least: int) -> set[int]:
    """Return the ids of the parts to name.

    The uses of a part follow from those of its parents, so the largest parts come first.
    """
    found: set[int] = set()
    sizes: dict[int, int] = {}
    for part in pool.parts:
        sizes[id(part)] = 1 + sum(sizes[id(child)] for child in part.children)
    times = Counter(map(id, roots))
    for part in reversed(pool.parts):
        enough = min(least, MIN_MANY_USES_NODES) if times[id(part)] >= MANY_USES else least
        if times[id(part)] > 1 and sizes[id(part)] >= enough and isinstance(part, Call) and not _is_number(part):
            found.add(id(part))
        for child in part.children:
            times[id(child)] += 1 if id(part) in found else times[id(part)]
    return found


def _is_number(part: Call) -> bool:
    """Return whether a part uses sizes and plain numbers alone."""
    return part.op == "getitem" and isinstance(part.args[0], Attribute)


def tree_sizes(formulas: Mapping[str, Expr]) -> dict[str, int]:
    """Return the number of nodes of each formula as a tree, in linear time."""
    known: dict[int, tuple[Expr, int]] = {}
    return {name: fold(formula, lambda _, parts: 1 + sum(parts), known) for name, formula in formulas.items()}
