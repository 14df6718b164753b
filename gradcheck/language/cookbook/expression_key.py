"""One key for all spellings of an expression.

Spellings differ in names, in the order of commuting parts, in transposes, and in the first factor of a trace. Two
expressions with one key are the same function of tensors of the assumed ranks. Two spellings of one function may still
have two keys.
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

#: The most parts of an expression with a key, and the most orders of its names that are tried.
MOST_PARTS, MOST_ORDERS = 400, 720


class ExpressionKey(NamedTuple):
    """The key of an expression, and its names in the order of the key."""

    text: str
    names: tuple[str, ...]


def key_of(expr: Expr, ranks: Ranks) -> ExpressionKey | None:
    """Return the key of an expression with these ranks, None if too long."""
    if sum(1 for _ in expr.walk()) > MOST_PARTS:
        return None
    tree = normal_form(expr, ranks)
    return min(
        ExpressionKey(_key_text(tree, {n: str(i) for i, n in enumerate(names)}), names) for names in _orders(tree, expr)
    )


def conventional_ranks(expr: Expr) -> Ranks:
    """Return conventional ranks: 2 for capital letters, 1 for others."""
    return {name: 2 if name[:1].isupper() else 1 for name in free_names(expr)}


def _orders(tree: Tree, expr: Expr) -> Iterator[tuple[str, ...]]:
    """Yield the orders of names that may give the least text."""
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
    """Return the least text of a normal form."""
    kind, *parts = tree
    if kind == "name":
        return names.get(str(parts[0]), str(parts[0]))
    written = [_key_text(part, names) if isinstance(part, tuple) else str(part) for part in parts]
    if kind in ("add", "mul"):
        return f"{kind}({','.join(sorted(written))})"
    if kind == "even":  # with either sign
        return f"pow({min(written[:2])},{written[2]})"
    if kind in ("trace", "scalar"):  # of a chain and of its transpose
        half = len(written) // 2
        ways = [written[:half], written[half:]]
        if kind == "trace":
            ways = [way[k:] + way[:k] for way in ways for k in range(half)]
        return f"{kind}({','.join(min(ways))})"
    return f"{kind}({','.join(written)})"
