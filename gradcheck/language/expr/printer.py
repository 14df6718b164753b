"""An Expr to text with the least brackets; `parse(to_text(e)) == e`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from gradcheck.autograd.op import lookup
from gradcheck.autograd.operators import PROPERTIES
from gradcheck.language.expr.call_parser import FUNCTIONS
from gradcheck.language.expr.nodes import (
    Attribute,
    Call,
    Derivative,
    Dtype,
    Expr,
    Gradient,
    Literal,
    Name,
    Sequence,
    Slice,
)
from gradcheck.language.expr.syntax import is_number

#: The precedence of sums, signs and names; those of the other operators are in the table.
SUM, UNARY, ATOM = 5, 7, 9


class Infix(NamedTuple):
    """Python's operator of an op, with its precedence and its operands'."""

    sign: str
    precedence: int
    left_precedence: int
    right_precedence: int


_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_PRODUCTS = {"mul": "*", "div": "/", "floor_divide": "//", "remainder": "%", "matmul": "@"}
INFIX: dict[str, Infix] = {
    **{op: Infix(sign, 1, 2, 2) for op, sign in _COMPARISONS.items()},
    "bitwise_or": Infix("|", 2, 2, 3),
    "bitwise_and": Infix("&", 4, 4, 5),
    "add": Infix("+", SUM, SUM, 6),
    "sub": Infix("-", SUM, SUM, 6),
    **{op: Infix(sign, 6, 6, UNARY) for op, sign in _PRODUCTS.items()},
    "pow": Infix("**", 8, ATOM, UNARY),
}
PREFIX = {"neg": "-", "bitwise_not": "~"}

#: Text, or an expression and the precedence that it needs to stand without brackets.
Piece: TypeAlias = str | tuple[Expr, int]
#: A node's precedence and its pieces.
Spelling: TypeAlias = tuple[int, list[Piece]]


def to_text(expr: Expr) -> str:
    """Return the text of an expression."""
    return render(expr, spell, "(", ")")


def render(expr: Expr, spell: Callable[[Expr], Spelling], opening: str, closing: str) -> str:
    """Return the text of an expression in the notation of `spell`.

    `spell` returns the pieces of one node; brackets are added where needed.
    """
    out: list[str] = []
    stack: list[Piece] = [(expr, 0)]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str):
            out.append(piece)
            continue
        node, least = piece
        binds, pieces = spell(node)
        stack.extend(reversed(pieces if binds >= least else [opening, *pieces, closing]))
    return "".join(out)


def commas(items: Iterable[Expr]) -> list[Piece]:
    """Return the pieces of expressions with commas between them."""
    pieces: list[Piece] = []
    for item in items:
        pieces += [", ", (item, 0)]
    return pieces[1:]


def spell(expr: Expr) -> Spelling:
    match expr:
        case Name(name):
            return ATOM, [name]
        case Literal(value):
            return _spell_literal(value)
        case Call():
            return _spell_call(expr)
        case Attribute(value, "len"):
            return ATOM, ["len(", (value, 0), ")"]
        case Attribute(value, "numel"):
            return ATOM, [_owner(value), ".numel()"]
        case Attribute(value, name):
            return ATOM, [_owner(value), f".{name}"]
        case Sequence(items, False):
            return ATOM, ["[", *commas(items), "]"]
        case Sequence(items, True):
            return ATOM, ["(", *commas(items), ",)" if len(items) == 1 else ")"]
        case Dtype(name):
            return ATOM, [f"torch.{name}"]
        case Gradient(name):
            return ATOM, [f"grad({name})"]
        case Derivative(name):
            return ATOM, [name]
        case Slice(start, stop, step):
            bounds = (start, stop) if step is None else (start, stop, step)
            return ATOM, ["slice(", *commas(Literal(None) if b is None else b for b in bounds), ")"]
    raise TypeError(f"{type(expr).__name__} is no expression")


def _owner(value: Expr) -> Piece:
    """Return the piece before a dot, where a number needs brackets."""
    return (value, ATOM + 1) if isinstance(value, Literal) else (value, ATOM)


def _spell_call(call: Call) -> Spelling:
    op, args = call.op, call.args
    if not call.kwargs and len(args) == 2:
        if op in INFIX and not _is_complex_sum(op, *args):
            sign, binds, left, right = INFIX[op]
            return binds, [(args[0], left), f" {sign} ", (args[1], right)]
        if op == "getitem":
            return ATOM, [_owner(args[0]), "[", *_spell_index(args[1]), "]"]
    if not call.kwargs and len(args) == 1:
        if op in PREFIX and not (op == "neg" and _is_plain_number(args[0])):
            return UNARY, [PREFIX[op], (args[0], UNARY)]
        if op in PROPERTIES:
            return ATOM, [_owner(args[0]), f".{op}"]
    return ATOM, _spell_function(call)


def _spell_function(call: Call) -> list[Piece]:
    """Return `sum(x, dim=0)`, `x.float()` or `torch.complex(x, y)`."""
    op, args = call.op, call.args
    before: list[Piece] = [f"{op}("]
    if op in FUNCTIONS:
        entry = lookup(op)
        as_method = bool(args) and entry is not None and entry.method
        before = [_owner(args[0]), f".{op}("] if as_method else [f"torch.{op}("]
        args = args[1:] if as_method else args
    elif "." in op and args and isinstance(args[0], Literal):  # else `linalg.norm(2)` might be a method of `linalg`
        before = [f"torch.{op}("]
    inside = commas(args)
    for name, value in call.kwargs:
        inside += [", " if inside else "", f"{name}=", (value, 0)]
    return [*before, *inside, ")"]


def _spell_index(index: Expr) -> list[Piece]:
    if isinstance(index, Sequence) and index.is_tuple and index.items:
        pieces: list[Piece] = []
        for item in index.items:
            pieces += [", ", *spell_entry(item)]
        return [*pieces[1:], "," if len(index.items) == 1 else ""]
    return spell_entry(index)


def spell_entry(entry: Expr) -> list[Piece]:
    """Return the pieces of a part of an index, where slices have colons."""
    if not isinstance(entry, Slice):
        return [(entry, 0)]
    bounds = (entry.start, entry.stop, entry.step)
    start, stop, step = (list[Piece]() if bound is None else [(bound, 1)] for bound in bounds)
    return [*start, ":", *stop, *([":", *step] if step else [])]


def _is_plain_number(expr: Expr) -> bool:
    """Return whether a sign before it would become part of the number."""
    return isinstance(expr, Literal) and is_number(expr.value) and _spell_literal(expr.value)[0] == ATOM


def _is_complex_sum(op: str, left: Expr, right: Expr) -> bool:
    """Return whether the operator would become part of a number: `1 + 2j`."""
    real = isinstance(left, Literal) and is_number(left.value) and not isinstance(left.value, complex)
    imaginary = isinstance(right, Literal) and isinstance(right.value, complex) and _is_plain_number(right)
    return op in ("add", "sub") and real and imaginary


def _spell_literal(value: object) -> Spelling:
    if value is Ellipsis:
        return ATOM, ["..."]
    if isinstance(value, complex):
        return _spell_complex(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (UNARY if _negative(value) else ATOM), [_spell_real(value)]
    return ATOM, [repr(value)]


def _negative(value: float) -> bool:
    return math.copysign(1.0, value) < 0 and not math.isnan(value)


def _spell_real(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "torch.nan" if math.isnan(value) else "torch.inf" if value > 0 else "-torch.inf"


def _spell_complex(value: complex) -> Spelling:
    """Return `2j`, `-2j` (real part -0.0), `1 + 2j` or `complex(inf, 2.0)`."""
    real, imag = value.real, value.imag
    if not (math.isfinite(real) and math.isfinite(imag)):
        return ATOM, [f"complex({_spell_real(real)}, {_spell_real(imag)})"]
    size = f"{abs(imag):.17g}j" if float(f"{abs(imag):.15g}") != abs(imag) else f"{abs(imag):.15g}j"
    if real == 0 and _negative(real) == _negative(imag):
        return (UNARY, [f"-{size}"]) if _negative(imag) else (ATOM, [size])
    number = f"{real:.0f}" if real.is_integer() and abs(real) < 1e15 and real != 0 else repr(real)
    return SUM, [f"{number} {'-' if _negative(imag) else '+'} {size}"]
