"""What an expression mentions: names, gradients and ops, each with the column where it stands first."""

from __future__ import annotations

from collections.abc import Iterable

from gradcheck.language.expr.nodes import Call, Expr, Gradient, Name
from gradcheck.language.expr.traverse import walk


def free_names(expr: Expr) -> dict[str, int]:
    """The names that it uses, in reading order. `grad(p)` does not use `p`."""
    return _first((node.name, node.at) for node in walk(expr) if isinstance(node, Name))


def gradient_names(expr: Expr) -> dict[str, int]:
    """The names in its `grad(…)`s, in reading order."""
    return _first((node.name, node.at) for node in walk(expr) if isinstance(node, Gradient))


def ops_in(expr: Expr) -> dict[str, int]:
    """The ops that it applies, in reading order."""
    return _first((node.op, node.at) for node in walk(expr) if isinstance(node, Call))


def _first(mentioned: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, column in mentioned:
        found.setdefault(name, column)
    return found
