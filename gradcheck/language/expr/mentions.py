"""What an expression mentions: names, gradients and ops, each with the column where it stands first."""

from __future__ import annotations

from typing import NamedTuple

from gradcheck.language.expr.nodes import Call, Expr, Gradient, Name
from gradcheck.language.expr.traverse import walk


class Mentions(NamedTuple):
    """What an expression mentions, in reading order."""

    names: dict[str, int]
    gradients: dict[str, int]
    ops: dict[str, int]


def mentions(expr: Expr) -> Mentions:
    """All that an expression mentions. `grad(p)` mentions the gradient of `p`, and not the name."""
    found = Mentions({}, {}, {})
    for node in walk(expr):
        if type(node) is Call:
            found.ops.setdefault(node.op, node.at)
        elif type(node) is Name:
            found.names.setdefault(node.name, node.at)
        elif type(node) is Gradient:
            found.gradients.setdefault(node.name, node.at)
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
