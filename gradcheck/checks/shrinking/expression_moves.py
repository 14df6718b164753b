"""Ways to make a case smaller inside one expression of its graph: a part of it in its place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gradcheck.checks.shrinking.case_edits import fresh_name, value_of, values_of, with_entry, with_leaf
from gradcheck.checks.shrinking.unused import without_unused
from gradcheck.language.case import Case
from gradcheck.language.expr.nodes import Call, Expr, Name
from gradcheck.language.expr.traverse import postorder, replace_part

#: Entries of a graph, and parts of an expression, that are looked at one by one.
_MOST = 60


def small_parts(case: Case) -> Iterator[Case]:
    """A long expression replaced by a part of it: of the smallest, of twice the size, and so on."""
    for name, claim in list(case.graph.items())[:_MOST]:
        parts = _by_size(claim.expr)
        at = 1
        while at < len(parts) // 2:
            yield without_unused(with_entry(case, name, parts[at]))
            at *= 2


def _by_size(root: Expr) -> list[Expr]:
    """Every call in an expression, those of the fewest calls first."""
    sizes: dict[int, int] = {}
    found: list[Expr] = []
    for node in postorder(root):
        if id(node) not in sizes:
            sizes[id(node)] = sum(sizes[id(child)] for child in node.children) + isinstance(node, Call)
            if isinstance(node, Call):
                found.append(node)
    return sorted(found, key=lambda node: sizes[id(node)])


def simpler_parts(case: Case) -> Iterator[Case]:
    """A part of an expression replaced by one of its own parts, or given as a number."""
    values = values_of(case)
    fresh = fresh_name(case)
    for name, claim in list(case.graph.items())[:_MOST]:
        for index, node in enumerate(claim.expr.walk()):
            if index > _MOST:
                break
            if not isinstance(node, Call):
                continue
            for child in node.children:
                if isinstance(child, (Call, Name)) and isinstance(value_of(child, values), np.ndarray):
                    yield without_unused(with_entry(case, name, replace_part(claim.expr, node, child)))
            value = value_of(node, values) if index else None
            if isinstance(value, np.ndarray):
                changed = with_entry(case, name, replace_part(claim.expr, node, Name(fresh)))
                yield without_unused(with_leaf(changed, fresh, value))
