"""One key for all spellings of an expression: up to the names of its tensors, the order in which what commutes is
written, transposes, and the factor at which a trace begins.

Two expressions with one key are the same function of tensors of the ranks that were assumed; that the same function
has one key in all its spellings is not claimed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations, product
from math import factorial, prod
from typing import NamedTuple

from gradcheck.language.cookbook.normal_form_rules import normal_form
from gradcheck.language.cookbook.ranks import Ranks, Tree
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.traverse import free_names

#: Of an expression with more parts there is no key, and of more orders of its names only so many are tried.
MOST_PARTS, MOST_ORDERS = 400, 720


class ExpressionKey(NamedTuple):
    """What an expression is called, and its names in the order in which the key counts them."""

    text: str
    names: tuple[str, ...]


def key_of(expr: Expr, ranks: Ranks) -> ExpressionKey | None:
    """The key of an expression whose names have these ranks, None where it is too long to be looked up."""
    if sum(1 for _ in expr.walk()) > MOST_PARTS:
        return None
    tree = normal_form(expr, ranks)
    return min(
        ExpressionKey(_key_text(tree, {n: str(i) for i, n in enumerate(names)}), names) for names in _orders(tree, expr)
    )


def conventional_ranks(expr: Expr) -> Ranks:
    """The ranks that names have by convention: capital letters are matrices, others vectors."""
    return {name: 2 if name[:1].isupper() else 1 for name in free_names(expr)}


def _orders(tree: Tree, expr: Expr) -> Iterator[tuple[str, ...]]:
    """Orders of the names, one of which has the least text: those alike in where they stand in every order."""
    names = list(free_names(expr))
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_key_text(tree, {n: "*" if n == name else "_" for n in names}), []).append(name)
    groups = [alike[place] for place in sorted(alike)]
    if prod(factorial(len(group)) for group in groups) > MOST_ORDERS:
        yield tuple(name for group in groups for name in group)
        return
    for chosen in product(*(permutations(group) for group in groups)):
        yield tuple(name for group in chosen for name in group)


def _key_text(tree: Tree, names: Mapping[str, str]) -> str:
    """The text of a normal form, the least of those that say the same."""
    kind, *parts = tree
    if kind == "name":
        return names.get(str(parts[0]), str(parts[0]))
    written = [_key_text(part, names) if isinstance(part, tuple) else str(part) for part in parts]
    if kind in ("add", "mul"):
        return f"{kind}({','.join(sorted(written))})"
    if kind == "even":  # of either sign
        return f"pow({min(written[:2])},{written[2]})"
    if kind in ("trace", "scalar"):  # of a chain, and of the same transposed
        half = len(written) // 2
        ways = [written[:half], written[half:]]
        if kind == "trace":
            ways = [way[k:] + way[:k] for way in ways for k in range(half)]
        return f"{kind}({','.join(min(ways))})"
    return f"{kind}({','.join(written)})"
