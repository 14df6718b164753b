"""What one text says, read once: its expression, and what of it is asked about wherever it stands."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from gradcheck.autograd.op import lookup
from gradcheck.errors import Place
from gradcheck.language.evaluation.scalar_arithmetic import ARITHMETIC
from gradcheck.language.expr.named_results import result_attributes
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Literal, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import Mentions, mentions, postorder

#: The larger and the smaller of two tensors.
_EXTREMES = frozenset({"max", "min", "maximum", "minimum", "fmax", "fmin"})
#: What plain numbers have too, and what of it is not defined for all of them.
_ARITHMETIC, _PARTIAL = (
    frozenset({*ARITHMETIC, "neg"}),
    frozenset({"div", "floor_divide", "remainder", "pow", "bitwise_and", "bitwise_or", "bitwise_xor"}),
)


class ParsedExpression(NamedTuple):
    """An expression, what it mentions, the calls in it that make tensors out of sizes, or take the larger of two
    things, whether it has operators that are not defined for all numbers, and parts that are called by names."""

    expr: Expr
    mentions: Mentions
    creators: list[Call]
    extremes: list[Call]
    has_arithmetic: bool
    parts: list[Attribute]


@lru_cache(maxsize=4096)
def parse_cached(text: str) -> ParsedExpression:
    """An expression by its text: cases of one suite say the same things over and over."""
    expr = parse(text, Place(column=1))
    found = mentions(expr)
    creators, extremes = [], []
    if makers := {name for name in found.ops if _makes_any_size(name)}:
        creators = [node for node in expr.walk() if isinstance(node, Call) and node.op in makers]
    if not _EXTREMES.isdisjoint(found.ops):
        extremes = [n for n in expr.walk() if isinstance(n, Call) and n.op in _EXTREMES and len(n.children) == 2]
        extremes = [call for call in extremes if len(call.args) == 2]
    return ParsedExpression(
        expr, found, creators, extremes, not _PARTIAL.isdisjoint(found.ops), list(result_attributes(expr))
    )


def _makes_any_size(name: str) -> bool:
    """Whether an op makes a tensor of any size out of none, or of smaller ones."""
    op = lookup(name)
    return op is not None and op.elements is not None and not op.method


def partial_arithmetic(expr: Expr, sizes: Mapping[str, int]) -> list[Call]:
    """The outermost operators over numbers and sizes alone, where one among them is not defined for all numbers."""
    plain: dict[int, bool] = {}  # by id of a node that is made of numbers and sizes, whether it may fail
    outermost: dict[int, Call] = {}
    for node in postorder(expr):
        if isinstance(node, Literal) or (isinstance(node, Name) and node.name in sizes):
            plain[id(node)] = False
        elif isinstance(node, Call) and node.op in _ARITHMETIC and all(id(part) in plain for part in node.children):
            plain[id(node)] = node.op in _PARTIAL or any(plain[id(part)] for part in node.children)
            for part in node.children:
                outermost.pop(id(part), None)
            if plain[id(node)]:
                outermost[id(node)] = node
    return list(outermost.values())
