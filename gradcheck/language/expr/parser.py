"""Text to an Expr: Python parses it, and only the language's nodes pass.

Each kind of node has a plan: the parts to read first, and a function that builds the node. The stack is explicit, so no
text is too deep. Python never evaluates the text.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from gradcheck.autograd.op import lookup
from gradcheck.autograd.operators import PROPERTIES
from gradcheck.errors import Hint, InvalidCase, Place
from gradcheck.language.expr.call_parser import CallSite, plan_call
from gradcheck.language.expr.named_results import NAMES as PART_NAMES
from gradcheck.language.expr.named_results import NoSuchResult, named_result
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Literal, Name, Sequence, Slice
from gradcheck.language.expr.notation_mistakes import find_notation_mistake
from gradcheck.language.expr.syntax import (
    MAX_LENGTH,
    MAX_NESTING,
    Build,
    ParsePlan,
    Source,
    dotted_name,
    fits_64_bits,
    signed_number,
    unsigned_number,
)
from gradcheck.language.expr.torch_names import (
    NAMESPACES,
    NUMBERS,
    NUMPY_LIKE_NAMES,
    REPLACEMENT_HINTS,
    find_op,
    namespace_constant,
)
from gradcheck.language.suggest import nearest

MAX_STRING = 1_000

ATTRIBUTES = frozenset({"shape", "ndim", "dtype"})
_LISTED = "the attributes are .T .mT .H .mH .shape .ndim .dtype .real .imag"

BINARY: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
}
COMPARISONS: dict[type[ast.AST], str] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
UNARY: dict[type[ast.AST], str] = {ast.USub: "neg", ast.Invert: "bitwise_not"}

_WHOLE = "ops work on whole tensors: (x * x).sum(), not sum(a * a for a in x)"
#: Python syntax that the language lacks: its name, and a hint.
UNSUPPORTED_SYNTAX: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lambda: ("a lambda", "write the formula itself where it is used, or give it a name in `graph`"),
    ast.ListComp: ("a comprehension", _WHOLE),
    **dict.fromkeys((ast.SetComp, ast.DictComp, ast.GeneratorExp), ("a comprehension", _WHOLE)),
    ast.NamedExpr: ("an assignment", "give it a name of its own, in `graph` or `let`"),
    ast.IfExp: ("a conditional", "write where(condition, x, y)"),
    ast.BoolOp: ("`and` or `or`", "write & or |, with brackets: (x > 0) & (x < 1)"),
    ast.Not: ("`not`", "write ~x"),
    ast.UAdd: ("a unary plus", "leave it out"),
    ast.Dict: ("a dictionary", ""),
    ast.Set: ("a set", "a list is written [1, 2]"),
    **dict.fromkeys((ast.JoinedStr, ast.FormattedValue), ("an f-string", "write the text out")),
    ast.Starred: ("an unpacking *", "write the arguments out, or as one tuple: x.shape[:-1] + (2,)"),
    ast.Await: ("an await", ""),
    **dict.fromkeys((ast.Yield, ast.YieldFrom), ("a yield", "")),
    ast.BitXor: ("the operator ^", "a power is written **"),
    ast.LShift: ("the operator <<", "write * 2 ** n"),
    ast.RShift: ("the operator >>", "write // 2 ** n"),
    ast.Is: ("`is`", "write =="),
    ast.IsNot: ("`is not`", "write !="),
    ast.In: ("`in`", "write (x == y).any()"),
    ast.NotIn: ("`not in`", "write (x != y).all()"),
}


def parse(text: str, place: Place | None = None, *, max_length: int = MAX_LENGTH) -> Expr:
    """Return the expression of a text at `place`; raise InvalidCase."""
    return _parse(Source(text, place), max_length, None)


def parse_with_spans(text: str) -> tuple[Expr, dict[int, tuple[int, int]]]:
    """Return an expression, and the spans of its parts in the text, by id.

    Spans exclude surrounding brackets. A part that is not written as such (the shape in `x.size(0)`) has none. Raises
    InvalidCase.
    """
    found: dict[int, tuple[int, int]] = {}
    return _parse(Source(text), MAX_LENGTH, found), found


def _parse(source: Source, max_length: int, found: dict[int, tuple[int, int]] | None) -> Expr:
    todo: list[tuple[Any, int, Build | None, int]] = [(source.tree(max_length), 0, None, 0)]
    done: list[Expr] = []
    while todo:
        node, depth, build, count = todo.pop()
        if build is not None:  # its parts are the last ones done
            start = len(done) - count
            parts = done[start:]
            del done[start:]
            done.append(build(parts))
            if found is not None:
                found[id(done[-1])] = source.at(node), source.offset(node.end_col_offset)
            continue
        if depth > MAX_NESTING:
            raise source.error(source.at(node), f"an expression nested more than {MAX_NESTING} levels deep")
        plan = _PLANS.get(type(node))
        if plan is None:
            raise _unsupported_syntax(source, node, type(node))
        children, build = plan(source, node, depth)
        todo.append((node, 0, build, len(children)))
        todo.extend((child, below, None, 0) for child, below in reversed(children))
    return done[0]


def _unsupported_syntax(source: Source, node: ast.expr, kind: type[ast.AST]) -> InvalidCase:
    what, hint = UNSUPPORTED_SYNTAX.get(kind, (f"a {kind.__name__}", ""))
    if kind is not ast.BitXor:
        return source.error(source.at(node), f"{what} is not part of the language", hint)
    slip = find_notation_mistake(source.text)
    if slip is not None:
        return source.error(slip.at, slip.message, slip.hint)
    at = source.text.index("^", source.at(node))
    return source.error(at, f"{what} is not part of the language", Hint(hint, "^", "**"))


def _constant(source: Source, node: ast.Constant, depth: int) -> ParsePlan:
    value, at = node.value, source.at(node)
    if isinstance(value, bytes):
        raise source.error(at, "bytes are not part of the language", "write the text without its b")
    if isinstance(value, str) and len(value) > MAX_STRING:
        raise source.error(at, f"a text of {len(value):,} characters, where {MAX_STRING:,} are allowed")
    if not fits_64_bits(value):
        if isinstance(value, int):
            raise source.error(at, "an integer that does not fit in 64 bits", "write it as a float: 1e20")
        raise source.error(at, "a number beyond the largest float", "write inf for infinity")
    return [], lambda parts: Literal(value, at=at)


def _name(source: Source, node: ast.Name, depth: int) -> ParsePlan:
    return [], lambda parts: Name(node.id, at=source.at(node))


def _attribute(source: Source, node: ast.Attribute, depth: int) -> ParsePlan:
    name, at = node.attr, source.at(node)
    known = namespace_constant(dotted_name(node.value), name)
    if known is not None:
        return [], lambda parts: replace(known, at=at)
    if name in PROPERTIES:
        return [(node.value, depth)], partial(_build_call, name, at)
    if name in ATTRIBUTES:
        return [(node.value, depth)], lambda parts: Attribute(parts[0], name, at=at)
    if name in PART_NAMES and not isinstance(node.value, ast.Attribute):
        return [(node.value, depth)], partial(_build_part, source, node)
    raise source.error(source.name_at(node, name), *_bad_attribute(dotted_name(node.value), name))


def _build_part(source: Source, node: ast.Attribute, parts: list[Expr]) -> Expr:
    """Return a result by its name; the loader resolves names of the case."""
    (owner,), at = parts, source.at(node)
    if isinstance(owner, Name):
        return Attribute(owner, node.attr, at=at)
    found = named_result(owner, owner, node.attr, at)
    if isinstance(found, NoSuchResult):
        why = _bad_attribute("", node.attr) if lookup(node.attr) else found
        raise source.error(source.name_at(node, node.attr), *why)
    return found


def _bad_attribute(owner: str, name: str) -> tuple[str, str]:
    if NAMESPACES.get(owner) and owner != "F":
        found = find_op(owner, name)
        return f"'{owner}.{name}' is no number and no dtype", f"call it: {owner}.{name}(…)" if found else ""
    if owner in NUMPY_LIKE_NAMES and name in NUMBERS:
        return f"'{owner}.{name}' is not part of the language", f"write {name}"
    if name in REPLACEMENT_HINTS:
        return f"'{name}' is not an attribute of the language", REPLACEMENT_HINTS[name]
    if lookup(name) is not None:
        return f"'{name}' is not an attribute of the language", Hint(f"call it: .{name}()", name, f"{name}()")
    close = nearest(name, PROPERTIES | ATTRIBUTES)
    return f"'{name}' is not an attribute of the language", f"did you mean '.{close}'?" if close else _LISTED


def _build_call(op: str, at: int, parts: list[Expr]) -> Expr:
    return Call(op, tuple(parts), at=at)


def _binary(source: Source, node: ast.BinOp, depth: int) -> ParsePlan:
    op, at = BINARY.get(type(node.op)), source.at(node)
    if op is None:
        raise _unsupported_syntax(source, node, type(node.op))
    folded = _complex_literal(node)
    if folded is not None:
        return [], lambda parts: Literal(folded, at=at)
    return [(node.left, depth), (node.right, depth + 1)], partial(_build_call, op, at)


def _complex_literal(node: ast.BinOp) -> complex | None:
    """Return `1 + 2j` as one number, which keeps the parts' signed zeros."""
    right = node.right
    if not isinstance(right, ast.Constant) or not isinstance(right.value, complex):
        return None
    left = signed_number(node.left)
    if left is None or isinstance(left, complex):
        return None
    if isinstance(node.op, ast.Add):
        return complex(left, right.value.imag)
    return complex(left, -right.value.imag) if isinstance(node.op, ast.Sub) else None


def _unary(source: Source, node: ast.UnaryOp, depth: int) -> ParsePlan:
    op, at = UNARY.get(type(node.op)), source.at(node)
    if op is None:
        raise _unsupported_syntax(source, node, type(node.op))
    number = unsigned_number(node.operand)
    if op == "neg" and number is not None:
        return [], lambda parts: Literal(-number, at=at)
    return [(node.operand, depth + 1)], partial(_build_call, op, at)


def _compare(source: Source, node: ast.Compare, depth: int) -> ParsePlan:
    at = source.at(node)
    if len(node.ops) > 1:
        raise source.error(at, "a chained comparison is not part of the language", "write (a < b) & (b < c)")
    op = COMPARISONS.get(type(node.ops[0]))
    if op is None:
        raise _unsupported_syntax(source, node, type(node.ops[0]))
    return [(node.left, depth + 1), (node.comparators[0], depth + 1)], partial(_build_call, op, at)


def _sequence(source: Source, node: ast.List | ast.Tuple, depth: int) -> ParsePlan:
    at, is_tuple = source.at(node), isinstance(node, ast.Tuple)
    return [(item, depth + 1) for item in node.elts], lambda parts: Sequence(tuple(parts), is_tuple, at=at)


def _subscript(source: Source, node: ast.Subscript, depth: int) -> ParsePlan:
    return [(node.value, depth), (node.slice, depth + 1)], partial(_build_call, "getitem", source.at(node))


def _slice(source: Source, node: ast.Slice, depth: int) -> ParsePlan:
    """Parse a slice, which Python allows inside an index alone."""
    bounds, at = (node.lower, node.upper, node.step), source.at(node)

    def build(parts: list[Expr]) -> Expr:
        rest = iter(parts)
        return Slice(*(None if bound is None else next(rest) for bound in bounds), at=at)

    return [(bound, depth) for bound in bounds if bound is not None], build


def _call(source: Source, node: ast.Call, depth: int) -> ParsePlan:
    return plan_call(CallSite(source, node, depth))


_PLANS: dict[type[ast.AST], Callable[[Source, Any, int], ParsePlan]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Call: _call,
}
