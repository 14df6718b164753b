"""Parsed expressions, cached, and their errors that sizes alone show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from gradcheck.autograd.op import lookup
from gradcheck.errors import InvalidCase, Place, TensorError, TooLarge
from gradcheck.language.evaluation import result_size
from gradcheck.language.evaluation.evaluate import evaluate_node
from gradcheck.language.evaluation.scalar_arithmetic import ARITHMETIC
from gradcheck.language.expr.named_results import NoSuchResult, named_result, result_attributes
from gradcheck.language.expr.nodes import Attribute, Call, Derivative, Expr, Gradient, Literal, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import Mentions, distinct_nodes, fold, mentions, postorder, with_children
from gradcheck.language.loader.name_scope import NameScope

#: Ops that return the larger or the smaller of two tensors.
_EXTREMES = frozenset({"max", "min", "maximum", "minimum", "fmax", "fmin"})
#: Operators that plain numbers have, and those of them that are not defined for all numbers.
_ARITHMETIC, _PARTIAL = (
    frozenset({*ARITHMETIC, "neg"}),
    frozenset({"div", "floor_divide", "remainder", "pow", "bitwise_and", "bitwise_or", "bitwise_xor"}),
)
_MAX_ARGUMENT_SIZE = 10_000


class ParsedExpression(NamedTuple):
    """An expression and its parts that need a check wherever it stands."""

    expr: Expr
    mentions: Mentions
    creators: list[Call]  # calls that make tensors of sizes
    extremes: list[Call]  # calls such as max(x, y)
    has_arithmetic: bool  # with operators that are not defined for all numbers
    parts: list[Attribute]  # named results


@lru_cache(maxsize=4096)
def parse_cached(text: str) -> ParsedExpression:
    """Parse a text; cases of one suite repeat many expressions."""
    expr = parse(text, Place(column=1))
    found = mentions(expr)
    creators, extremes = [], []
    if makers := {name for name in found.ops if _makes_any_size(name)}:
        creators = [node for node in expr.walk() if isinstance(node, Call) and node.op in makers]
    if not _EXTREMES.isdisjoint(found.ops):
        extremes = [n for n in expr.walk() if isinstance(n, Call) and n.op in _EXTREMES and len(n.children) == 2]
        extremes = [call for call in extremes if len(call.args) == 2]
    is_partial = not _PARTIAL.isdisjoint(found.ops)
    return ParsedExpression(expr, found, creators, extremes, is_partial, list(result_attributes(expr)))


def _makes_any_size(name: str) -> bool:
    """Return whether an op can make a large tensor of small arguments."""
    op = lookup(name)
    return op is not None and op.elements is not None and not op.method


def partial_arithmetic(expr: Expr, sizes: Mapping[str, int]) -> list[Call]:
    """Return the outermost arithmetic over sizes that may be undefined."""
    plain: dict[int, bool] = {}  # whether a node of numbers and sizes may fail, by id
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


def oversized_creators(
    expr: Expr, creators: Sequence[Call], sizes: Mapping[str, int], limit: int
) -> Iterator[tuple[Call, TooLarge]]:
    """Yield each creator of more than `limit` elements, with its error.

    Creators that depend on tensors, and senseless ones, are checked when they are drawn.
    """
    known: dict[int, Any] = {}  # values of parts that use sizes alone, by id
    checked = set(map(id, creators))
    needed = {id(node) for node in distinct_nodes(*(part for call in creators for part in call.children))}
    for node in postorder(expr):
        if isinstance(node, Name):
            if node.name in sizes:
                known[id(node)] = sizes[node.name]
        elif isinstance(node, Literal):
            known[id(node)] = node.value
        elif not isinstance(node, (Derivative, Gradient)) and all(id(part) in known for part in node.children):
            parts = [known[id(part)] for part in node.children]
            if isinstance(node, Call) and id(node) in checked and (error := _size_error(node, parts, limit)):
                yield node, error
            elif id(node) in needed:
                with suppress(TensorError, InvalidCase):
                    known[id(node)] = evaluate_node(node, parts, max_elements=_MAX_ARGUMENT_SIZE)


def _size_error(call: Call, parts: list[Any], limit: int) -> TooLarge | None:
    op, count = lookup(call.op), len(call.args)
    kwargs = dict(zip((key for key, _ in call.kwargs), parts[count:], strict=True))
    try:
        if op is not None:
            result_size.check(op, tuple(parts[:count]), kwargs, limit)
    except TooLarge as error:
        return error
    except TensorError:
        return None
    return None


def resolve_named_results(
    read: ParsedExpression, scope: NameScope, report: Callable[[Attribute, NoSuchResult], None]
) -> Expr | None:
    """Return the expression with `m.values` as `m[0]`; None after a report."""
    known: dict[int, tuple[Expr, Expr]] = {}
    for node in read.parts:
        found = named_result(node.value, _definition(node.value, scope), node.name, node.at)
        if isinstance(found, NoSuchResult):
            report(node, found)
            return None
        known[id(node)] = node, found
    return fold(read.expr, with_children, known)


def _definition(expr: Expr, scope: NameScope) -> Expr:
    """Return the readable expression behind a name of `graph` or `let`."""
    seen = set()
    while isinstance(expr, Name) and expr.name not in seen:
        seen.add(expr.name)
        section = scope.defined.get(expr.name, "")
        entries = scope.document.data[section] if section in ("graph", "let") else {}
        try:
            expr = parse_cached(str(entries[expr.name])).expr if expr.name in entries else expr
        except InvalidCase:
            break
    return expr
