"""What occurs more than once in formulas: found as one object, and written once, as the steps of a derivation.

A gradient uses its cotangent, and the values of the forward pass, again and again; without names for them, the text of
a formula would grow exponentially with the depth of an expression.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from itertools import count
from typing import NamedTuple

from gradcheck.language.expr.nodes import Attribute, Call, Expr, Name
from gradcheck.language.expr.traverse import fold, with_children

#: A part of fewer nodes is no clearer for having a name; one that occurs `MANY_USES` may have only `FEW`.
MIN_STEP_NODES, MANY_USES, MIN_MANY_USES_NODES = 8, 3, 3


class InternPool:
    """Expressions in which equal parts are one object ("hash consing"), so that they compare by identity.

    `parts` are the different ones, children before parents. Linear in their number.
    """

    def __init__(self) -> None:
        self.parts: list[Expr] = []
        self._by_content: dict[object, Expr] = {}
        self._known: dict[int, tuple[Expr, Expr]] = {}

    def intern(self, root: Expr) -> Expr:
        """The one expression that is equal to this."""
        return fold(root, self._intern_node, self._known)

    def _intern_node(self, node: Expr, children: list[Expr]) -> Expr:
        key = (type(node), node.label, *map(id, children))
        if key not in self._by_content:
            self._by_content[key] = made = with_children(node, children)
            self.parts.append(made)
        return self._by_content[key]

    def tree_sizes(self) -> dict[int, int]:
        """How many nodes each part has as a tree, by its id."""
        found: dict[int, int] = {}
        for part in self.parts:
            found[id(part)] = 1 + sum(found[id(child)] for child in part.children)
        return found


class Derivation(NamedTuple):
    """Steps in order (a case's `let`), each of which may use those above it, and formulas that use them."""

    let: dict[str, Expr]
    formulas: dict[str, Expr]


def extract_steps(formulas: Mapping[str, Expr], taken: Collection[str] = (), least: int = MIN_STEP_NODES) -> Derivation:
    """The same formulas, with steps for all parts of at least `least` nodes that occur more than once, or `MANY_USES`.

    Steps are named `t1`, `t2`, … where those names are not `taken`.
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


def _steps(pool: InternPool, roots: list[Expr], least: int) -> set[int]:
    """The ids of parts that get a name. How often one would be written is known once what it is a part of is: from the
    largest parts down."""
    found: set[int] = set()
    sizes = pool.tree_sizes()
    times = Counter(map(id, roots))
    for part in reversed(pool.parts):
        enough = min(least, MIN_MANY_USES_NODES) if times[id(part)] >= MANY_USES else least
        if times[id(part)] > 1 and sizes[id(part)] >= enough and isinstance(part, Call) and not _is_number(part):
            found.add(id(part))
        for child in part.children:
            times[id(child)] += 1 if id(part) in found else times[id(part)]
    return found


def _is_number(part: Call) -> bool:
    """Whether it is made of sizes of shapes and plain numbers alone."""
    return part.op == "getitem" and isinstance(part.args[0], Attribute)


def tree_sizes(formulas: Mapping[str, Expr]) -> dict[str, int]:
    """How many nodes each formula has as a tree, the way it is printed; found without walking over all of them."""
    known: dict[int, tuple[Expr, int]] = {}
    return {name: fold(formula, lambda _, parts: 1 + sum(parts), known) for name, formula in formulas.items()}
