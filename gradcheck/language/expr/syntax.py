"""Small questions about Python's syntax trees, shared by what reads them."""

from __future__ import annotations

import ast
import cmath
from collections.abc import Callable
from typing import TypeAlias

from gradcheck.language.expr import names
from gradcheck.language.expr.nodes import Expr, Literal

Build: TypeAlias = Callable[[list[Expr]], Expr]
#: The parts of a node that are to be read first, each with its depth, and what makes an Expr of them.
Plan: TypeAlias = tuple[list[tuple[ast.expr, int]], Build]

MAX_INTEGER = 2**63
_NUMBERS = (int, float, complex)


def dotted(node: ast.expr) -> str:
    """`torch.linalg`, where that is what stands there; else an empty text. Three words are the most that matter."""
    words: list[str] = []
    for _ in range(3):
        if isinstance(node, ast.Name):
            return ".".join([node.id, *reversed(words)])
        if not isinstance(node, ast.Attribute):
            break
        words.append(node.attr)
        node = node.value
    return ""


def unsigned(node: ast.expr) -> int | float | complex | None:
    """The number that stands there as such, without a sign: `2`, `2j`, `torch.inf`; else None."""
    if isinstance(node, ast.Constant):
        value = node.value
        return value if type(value) in _NUMBERS and fits(value) else None  # type: ignore[return-value]
    if isinstance(node, ast.Attribute):
        known = names.member(dotted(node.value), node.attr)
        return known.value if isinstance(known, Literal) else None  # type: ignore[return-value]
    return None


def signed(node: ast.expr) -> int | float | complex | None:
    """The same, with or without a minus."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = unsigned(node.operand)
        return None if value is None else -value
    return unsigned(node)


def fits(value: object) -> bool:
    """Whether a literal is no integer too large for 64 bits, and no float that overflowed to infinity."""
    if type(value) is int:
        return value <= MAX_INTEGER
    return type(value) not in (float, complex) or cmath.isfinite(value)  # type: ignore[arg-type]
