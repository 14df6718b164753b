"""From an expression's text to an Expr: Python's own parser reads it, and nothing but the language's own comes through.

The syntax tree is walked with a stack, never by recursion, and Python never evaluates any of it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from gradcheck.autograd.op import lookup
from gradcheck.autograd.operators import PROPERTIES
from gradcheck.errors import InvalidCase, Place
from gradcheck.language.expr.calls import plan_call
from gradcheck.language.expr.nodes import Attribute, Call, Expr, Literal, Name, Sequence, Slice
from gradcheck.language.expr.notation import INSTEAD, NAMESPACES, NUMBERS, NUMPY, find_op, member
from gradcheck.language.expr.special_forms import CallSite
from gradcheck.language.expr.syntax import MAX_LENGTH, MAX_NESTING, Build, Source, dotted, fits, signed, unsigned
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

#: What Python has and the language has not: how it is called, and what to write instead.
REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lambda: ("a lambda", ""),
    ast.ListComp: ("a comprehension", "write the elements out, or use `arange`"),
    ast.SetComp: ("a comprehension", ""),
    ast.DictComp: ("a comprehension", ""),
    ast.GeneratorExp: ("a comprehension", ""),
    ast.NamedExpr: ("an assignment", "give it a name of its own, in `graph` or `let`"),
    ast.IfExp: ("a conditional", "write where(condition, x, y)"),
    ast.BoolOp: ("`and` or `or`", "write & or |, with brackets: (x > 0) & (x < 1)"),
    ast.Not: ("`not`", "write ~x"),
    ast.UAdd: ("a unary plus", "leave it out"),
    ast.Dict: ("a dictionary", ""),
    ast.Set: ("a set", "a list is written [1, 2]"),
    ast.JoinedStr: ("an f-string", "write the text out"),
    ast.FormattedValue: ("an f-string", "write the text out"),
    ast.Starred: ("an unpacking *", "write the arguments out, or as one tuple: x.shape[:-1] + (2,)"),
    ast.Await: ("an await", ""),
    ast.Yield: ("a yield", ""),
    ast.YieldFrom: ("a yield", ""),
    ast.BitXor: ("the operator ^", "a power is written **"),
    ast.LShift: ("the operator <<", "write * 2 ** n"),
    ast.RShift: ("the operator >>", "write // 2 ** n"),
    ast.Is: ("`is`", "write =="),
    ast.IsNot: ("`is not`", "write !="),
    ast.In: ("`in`", "write (x == y).any()"),
    ast.NotIn: ("`not in`", "write (x != y).all()"),
}


def parse(text: str, place: Place | None = None, *, max_length: int = MAX_LENGTH) -> Expr:
    """Read one expression. `place` is where its first character stands.

    Raises InvalidCase, placed at the offending part.
    """
    if len(text) <= _REMEMBERED:
        try:
            return _read_short(text)
        except InvalidCase as error:
            raise Source(text, place).error(error.place.column, error.message, error.hint) from None
    source = Source(text, place)
    return _Reader(source).read(source.tree(max_length))


_REMEMBERED = 200


@lru_cache(maxsize=4096)
def _read_short(text: str) -> Expr:
    """Files of one theme say the same short things again and again."""
    source = Source(text)
    return _Reader(source).read(source.tree())


class _Reader:
    """A walk over a syntax tree: `todo` holds what is still to be visited or built, `done` what is built."""

    __slots__ = ("done", "source", "todo")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.todo: list[tuple[Any, int, Build | None, int]] = []
        self.done: list[Expr] = []

    def read(self, root: ast.expr) -> Expr:
        todo, done = self.todo, self.done
        todo.append((root, 0, None, 0))
        while todo:
            node, depth, build, count = todo.pop()
            if build is not None:
                start = len(done) - count
                parts = done[start:]
                del done[start:]
                done.append(build(parts))
                continue
            if depth > MAX_NESTING:
                raise self.error(node, f"an expression nested more than {MAX_NESTING} levels deep")
            visit = _VISITORS.get(type(node))
            if visit is None:
                raise self.refuse(node, type(node))
            visit(self, node, depth)
        return done[0]

    def later(self, build: Build, children: list[tuple[ast.expr, int]]) -> None:
        """Build from these children, each with its depth, once they are built."""
        self.todo.append((None, 0, build, len(children)))
        for child, depth in reversed(children):
            self.todo.append((child, depth, None, 0))

    def at(self, node: ast.expr) -> int:
        return self.source.offset(node.col_offset)

    def error(self, node: ast.expr, message: str, hint: str = "") -> InvalidCase:
        return self.source.error(self.at(node), message, hint)

    def refuse(self, node: ast.expr, kind: type[ast.AST]) -> InvalidCase:
        what, hint = REFUSED.get(kind, (f"a {kind.__name__}", ""))
        return self.error(node, f"{what} is not part of the language", hint)


# Leaves ------------------------------------------------------------------------------------------


def _constant(reader: _Reader, node: ast.Constant, depth: int) -> None:
    value = node.value
    if isinstance(value, bytes):
        raise reader.error(node, "bytes are not part of the language", "write the text without its b")
    if isinstance(value, str) and len(value) > MAX_STRING:
        raise reader.error(node, f"a text of {len(value):,} characters, where {MAX_STRING:,} are allowed")
    if not fits(value):
        if type(value) is int:
            raise reader.error(node, "an integer that does not fit in 64 bits", "write it as a float: 1e20")
        raise reader.error(node, "a number beyond the largest float", "write inf for infinity")
    reader.done.append(Literal(value, at=reader.at(node)))


def _name(reader: _Reader, node: ast.Name, depth: int) -> None:
    reader.done.append(Name(node.id, at=reader.at(node)))


def _attribute(reader: _Reader, node: ast.Attribute, depth: int) -> None:
    name, at = node.attr, reader.at(node)
    known = member(dotted(node.value), name)
    if known is not None:
        reader.done.append(replace(known, at=at))
    elif name in PROPERTIES:
        reader.later(partial(_build_call, name, at), [(node.value, depth)])
    elif name in ATTRIBUTES:
        reader.later(lambda parts: Attribute(parts[0], name, at=at), [(node.value, depth)])
    else:
        raise reader.source.error(reader.source.name_at(node, name), *_bad_attribute(dotted(node.value), name))


def _bad_attribute(owner: str, name: str) -> tuple[str, str]:
    if NAMESPACES.get(owner) and owner != "F":
        found = find_op(owner, name)
        return f"'{owner}.{name}' is no number and no dtype", f"call it: {owner}.{name}(…)" if found else ""
    if owner in NUMPY and name in NUMBERS:
        return f"'{owner}.{name}' is not part of the language", f"write {name}"
    if name in INSTEAD:
        return f"'{name}' is not an attribute of the language", INSTEAD[name]
    if lookup(name) is not None:
        return f"'{name}' is not an attribute of the language", f"call it: .{name}()"
    close = nearest(name, PROPERTIES | ATTRIBUTES)
    return f"'{name}' is not an attribute of the language", f"did you mean '.{close}'?" if close else _LISTED


# Operators ---------------------------------------------------------------------------------------


def _build_call(op: str, at: int, parts: list[Expr]) -> Expr:
    return Call(op, tuple(parts), at=at)


def _binary(reader: _Reader, node: ast.BinOp, depth: int) -> None:
    op = BINARY.get(type(node.op))
    if op is None:
        raise reader.refuse(node, type(node.op))
    at = reader.at(node)
    folded = _complex_literal(node)
    if folded is not None:
        reader.done.append(Literal(folded, at=at))
        return
    reader.later(partial(_build_call, op, at), [(node.left, depth), (node.right, depth + 1)])


def _complex_literal(node: ast.BinOp) -> complex | None:
    """`1 + 2j` as one number. The parts are put together, not added, so that their signs of zero survive."""
    right = node.right
    if not isinstance(right, ast.Constant) or not isinstance(right.value, complex):
        return None
    left = signed(node.left)
    if left is None or isinstance(left, complex):
        return None
    if isinstance(node.op, ast.Add):
        return complex(left, right.value.imag)
    return complex(left, -right.value.imag) if isinstance(node.op, ast.Sub) else None


def _unary(reader: _Reader, node: ast.UnaryOp, depth: int) -> None:
    op, operand = UNARY.get(type(node.op)), node.operand
    if op is None:
        raise reader.refuse(node, type(node.op))
    at = reader.at(node)
    number = unsigned(operand)
    if op == "neg" and number is not None:
        reader.done.append(Literal(-number, at=at))
    else:
        reader.later(partial(_build_call, op, at), [(operand, depth + 1)])


def _compare(reader: _Reader, node: ast.Compare, depth: int) -> None:
    if len(node.ops) > 1:
        raise reader.error(node, "a chained comparison is not part of the language", "write (a < b) & (b < c)")
    op = COMPARISONS.get(type(node.ops[0]))
    if op is None:
        raise reader.refuse(node, type(node.ops[0]))
    children = [(node.left, depth + 1), (node.comparators[0], depth + 1)]
    reader.later(partial(_build_call, op, reader.at(node)), children)


# What has parts ----------------------------------------------------------------------------------


def _sequence(reader: _Reader, node: ast.List | ast.Tuple, depth: int) -> None:
    at, is_tuple = reader.at(node), isinstance(node, ast.Tuple)
    children = [(item, depth + 1) for item in node.elts]
    reader.later(lambda parts: Sequence(tuple(parts), is_tuple, at=at), children)


def _subscript(reader: _Reader, node: ast.Subscript, depth: int) -> None:
    build = partial(_build_call, "getitem", reader.at(node))
    reader.later(build, [(node.value, depth), (node.slice, depth + 1)])


def _slice(reader: _Reader, node: ast.Slice, depth: int) -> None:
    """Python's grammar has it inside an index alone."""
    bounds, at = (node.lower, node.upper, node.step), reader.at(node)

    def build(parts: list[Expr]) -> Expr:
        rest = iter(parts)
        return Slice(*(None if bound is None else next(rest) for bound in bounds), at=at)

    reader.later(build, [(bound, depth) for bound in bounds if bound is not None])


def _call(reader: _Reader, node: ast.Call, depth: int) -> None:
    children, build = plan_call(CallSite(reader.source, node, depth))
    reader.later(build, children)


_VISITORS: dict[type[ast.AST], Callable[[_Reader, Any, int], None]] = {
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
