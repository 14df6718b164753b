"""From an Expr back to text, as a person would write it; `parse(to_text(e)) == e`, and no brackets but the needed."""

from __future__ import annotations

import math
from collections.abc import Callable

from gradcheck.autograd.op import lookup
from gradcheck.autograd.operators import PROPERTIES
from gradcheck.language.expr.nodes import Attribute, Call, Dtype, Expr, Gradient, Literal, Name, Sequence, Slice
from gradcheck.language.expr.words import WORDS

#: Python's operators by op: sign, how strongly it binds, and how strongly its left and right operands must.
INFIX: dict[str, tuple[str, int, int, int]] = {
    **{op: (sign, 1, 2, 2) for op, sign in
       {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items()},
    "bitwise_or": ("|", 2, 2, 3),
    "bitwise_and": ("&", 4, 4, 5),
    "add": ("+", 5, 5, 6),
    "sub": ("-", 5, 5, 6),
    **{op: (sign, 6, 6, 7) for op, sign in
       {"mul": "*", "div": "/", "floor_divide": "//", "remainder": "%", "matmul": "@"}.items()},
    "pow": ("**", 8, 9, 7),
}  # fmt: skip
PREFIX = {"neg": "-", "bitwise_not": "~"}
_SUM, _UNARY, _ATOM = 5, 7, 9

#: Text as it stands, or an expression and how strongly it must bind to need no brackets.
Piece = str | tuple[Expr, int]


def to_text(expr: Expr) -> str:
    """The text of an expression."""
    return written(expr, _spell, "(", ")")


def written(expr: Expr, spell: Callable[[Expr], tuple[int, list[Piece]]], opening: str, closing: str) -> str:
    """An expression in some notation; `spell` says how strongly a node binds, and what its pieces are."""
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


def _spell(expr: Expr) -> tuple[int, list[Piece]]:
    """How strongly an expression binds, and its pieces."""
    match expr:
        case Name(name):
            return _ATOM, [name]
        case Literal(value):
            return _spell_literal(value)
        case Call():
            return _spell_call(expr)
        case Attribute(value, "len"):
            return _ATOM, ["len(", (value, 0), ")"]
        case Attribute(value, "numel"):
            return _ATOM, [_owner(value), ".numel()"]
        case Attribute(value, name):
            return _ATOM, [_owner(value), f".{name}"]
        case Sequence(items, is_tuple):
            return _ATOM, _spell_sequence(items, is_tuple)
        case Dtype(name):
            return _ATOM, [f"torch.{name}"]
        case Gradient(name):
            return _ATOM, [f"grad({name})"]
        case Slice(start, stop, step):
            bounds = (start, stop) if step is None else (start, stop, step)
            return _ATOM, ["slice(", *_commas(tuple(Literal(None) if b is None else b for b in bounds)), ")"]
    raise TypeError(f"{type(expr).__name__} is no expression")


def _owner(value: Expr) -> Piece:
    """What stands before a dot: a number needs brackets there."""
    return (value, _ATOM + 1) if isinstance(value, Literal) else (value, _ATOM)


def _commas(items: tuple[Expr, ...]) -> list[Piece]:
    pieces: list[Piece] = []
    for item in items:
        pieces += [", ", (item, 0)]
    return pieces[1:]


def _spell_sequence(items: tuple[Expr, ...], is_tuple: bool) -> list[Piece]:
    if not is_tuple:
        return ["[", *_commas(items), "]"]
    return ["(", *_commas(items), ",)" if len(items) == 1 else ")"]


def _spell_call(call: Call) -> tuple[int, list[Piece]]:
    op, args = call.op, call.args
    if not call.kwargs and len(args) == 2:
        if op in INFIX and not _is_complex_sum(op, args):
            sign, binds, left, right = INFIX[op]
            return binds, [(args[0], left), f" {sign} ", (args[1], right)]
        if op == "getitem":
            return _ATOM, [_owner(args[0]), "[", *_spell_index(args[1]), "]"]
    if not call.kwargs and len(args) == 1:
        if op in PREFIX and not (op == "neg" and _is_plain_number(args[0])):
            return _UNARY, [PREFIX[op], (args[0], _UNARY)]
        if op in PROPERTIES:
            return _ATOM, [_owner(args[0]), f".{op}"]
    return _ATOM, _spell_function(call)


def _spell_function(call: Call) -> list[Piece]:
    """`sum(x, dim=0)`; where the name alone means something else, `x.float()` or `torch.complex(x, y)`."""
    op, args = call.op, call.args
    before: list[Piece] = [f"{op}("]
    if op in WORDS:
        entry = lookup(op)
        as_method = bool(args) and entry is not None and entry.method
        before = [_owner(args[0]), f".{op}("] if as_method else [f"torch.{op}("]
        args = args[1:] if as_method else args
    elif "." in op and args and isinstance(args[0], Literal):  # else `linalg.norm(2)` might be a method of `linalg`
        before = [f"torch.{op}("]
    inside = _commas(args)
    for name, value in call.kwargs:
        inside += [", " if inside else "", f"{name}=", (value, 0)]
    return [*before, *inside, ")"]


def _spell_index(index: Expr) -> list[Piece]:
    if isinstance(index, Sequence) and index.is_tuple and index.items:
        pieces: list[Piece] = []
        for item in index.items:
            pieces += [", ", *_spell_entry(item)]
        return [*pieces[1:], "," if len(index.items) == 1 else ""]
    return _spell_entry(index)


def _spell_entry(entry: Expr) -> list[Piece]:
    """One part of an index, where a slice is written with colons."""
    if not isinstance(entry, Slice):
        return [(entry, 0)]
    last: list[Piece] = [] if entry.step is None else [":", (entry.step, 1)]
    return [*_part(entry.start), ":", *_part(entry.stop), *last]


def _part(expr: Expr | None) -> list[Piece]:
    return [] if expr is None else [(expr, 1)]


def _is_plain_number(expr: Expr) -> bool:
    """Whether a sign before it would be read as part of it: `2`, `2j`, `torch.inf`."""
    return (
        isinstance(expr, Literal)
        and type(expr.value) in (int, float, complex)
        and _spell_literal(expr.value)[0] == _ATOM
    )


def _is_complex_sum(op: str, args: tuple[Expr, ...]) -> bool:
    """Whether the operator would be read as part of a number: `1 + 2j`."""
    left, right = args
    real = isinstance(left, Literal) and type(left.value) in (int, float)
    return op in ("add", "sub") and real and _is_plain_number(right) and type(right.value) is complex  # type: ignore[attr-defined]


# Literals ----------------------------------------------------------------------------------------


def _spell_literal(value: object) -> tuple[int, list[Piece]]:
    if value is Ellipsis:
        return _ATOM, ["..."]
    if type(value) is complex:
        return _spell_complex(value)
    if type(value) in (int, float):
        return (_UNARY if _negative(value) else _ATOM), [_spell_real(value)]  # type: ignore[arg-type]
    return _ATOM, [repr(value)]


def _negative(value: float) -> bool:
    return math.copysign(1.0, value) < 0 and not math.isnan(value)


def _spell_real(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "torch.nan" if math.isnan(value) else "torch.inf" if value > 0 else "-torch.inf"


def _spell_complex(value: complex) -> tuple[int, list[Piece]]:
    """`2j`, `-2j` (whose real part is -0.0), `1 + 2j`; `complex(torch.inf, 2.0)` where a part is not finite."""
    real, imag = value.real, value.imag
    if not (math.isfinite(real) and math.isfinite(imag)):
        return _ATOM, [f"complex({_spell_real(real)}, {_spell_real(imag)})"]
    size = f"{abs(imag):.17g}j" if float(f"{abs(imag):.15g}") != abs(imag) else f"{abs(imag):.15g}j"
    if real == 0 and _negative(real) == _negative(imag):
        return (_UNARY, [f"-{size}"]) if _negative(imag) else (_ATOM, [size])
    number = f"{real:.0f}" if real.is_integer() and abs(real) < 1e15 and real != 0 else repr(real)
    return _SUM, [f"{number} {'-' if _negative(imag) else '+'} {size}"]
