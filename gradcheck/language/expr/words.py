"""The few words that are called in an expression and are no ops: `grad(x)`, `len(x.shape)`, `x.size(0)`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from gradcheck.autograd.op import lookup
from gradcheck.language.expr.names import torch_dtype
from gradcheck.language.expr.nodes import Attribute, Call, Dtype, Expr, Gradient, Literal, Slice
from gradcheck.language.expr.source import Source
from gradcheck.language.expr.syntax import Plan, signed


def plan_word(source: Source, node: ast.Call, depth: int, name: str) -> Plan | None:
    """How to read `name(…)`; None if that is no word of the language's own."""
    read = _FUNCTIONS.get(name)
    return read(source, node, depth) if read else None


def plan_word_method(source: Source, node: ast.Call, depth: int, value: ast.expr, name: str) -> Plan | None:
    """How to read `value.name(…)`; None if that is no word of the language's own."""
    read = _METHODS.get(name)
    if read is not None:
        return read(source, node, value, depth)
    if torch_dtype(name) and lookup(name) is None:
        return _cast(source, node, value, depth, torch_dtype(name))
    return None


def _arguments(source: Source, node: ast.Call, counts: tuple[int, ...], usage: str) -> list[ast.expr]:
    if node.keywords or len(node.args) not in counts:
        raise source.error(source.offset(node.col_offset), "wrong arguments", f"it is written {usage}")
    return node.args


def _grad(source: Source, node: ast.Call, depth: int) -> Plan:
    arg: ast.expr = _arguments(source, node, (1,), "grad(x), with the name of a tensor")[0]
    index, start = "", source.offset(arg.col_offset)
    if isinstance(arg, ast.Subscript) and isinstance(arg.slice, ast.Constant) and type(arg.slice.value) is int:
        index = f"[{arg.slice.value}]"
        arg = arg.value
    if not isinstance(arg, ast.Name):
        raise source.error(start, "grad(…) takes the name of a tensor",
                           "give the expression a name of its own, in `graph`")  # fmt: skip
    gradient = Gradient(arg.id + index, at=source.offset(node.col_offset))
    return [], lambda parts: gradient


def _no_grad(source: Source, node: ast.Call, depth: int) -> Plan:
    (arg,) = _arguments(source, node, (1,), "no_grad(expression)")
    at = source.offset(node.col_offset)
    return [(arg, depth + 1)], lambda parts: Call("detach", (parts[0],), at=at)


def _measure(name: str) -> Callable[[Source, ast.Call, int], Plan]:
    def read(source: Source, node: ast.Call, depth: int) -> Plan:
        (arg,) = _arguments(source, node, (1,), f"{name}(x)")
        at = source.offset(node.col_offset)
        return [(arg, depth + 1)], lambda parts: Attribute(parts[0], name, at=at)

    return read


def _float(source: Source, node: ast.Call, depth: int) -> Plan:
    (arg,) = _arguments(source, node, (1,), "float('inf'), float('-inf') or float('nan')")
    given = arg.value if isinstance(arg, ast.Constant) and type(arg.value) is str else signed(arg)
    try:
        literal = Literal(float(given), at=source.offset(node.col_offset))  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        raise source.error(source.offset(arg.col_offset), "float(…) takes a number written out, as in float('-inf')") \
            from None  # fmt: skip
    return [], lambda parts: literal


def _complex(source: Source, node: ast.Call, depth: int) -> Plan | None:
    """`complex(1, 2)` is a number; anything else is the op of that name."""
    numbers = [signed(arg) for arg in node.args]
    if node.keywords or len(numbers) != 2 or any(type(n) not in (int, float) for n in numbers):
        return None
    literal = Literal(complex(numbers[0], numbers[1]), at=source.offset(node.col_offset))  # type: ignore[arg-type]
    return [], lambda parts: literal


def _size(source: Source, node: ast.Call, value: ast.expr, depth: int) -> Plan:
    """`x.size(0)` is `x.shape[0]`."""
    at = source.offset(node.col_offset)
    keywords = [keyword for keyword in node.keywords if keyword.arg == "dim"]
    args = [*node.args, *(keyword.value for keyword in keywords)]
    if len(args) > 1 or len(keywords) < len(node.keywords):
        raise source.error(at, "wrong arguments", "it is written x.size() or x.size(0)")

    def build(parts: list[Expr]) -> Expr:
        shape = Attribute(parts[0], "shape", at=at)
        return Call("getitem", (shape, parts[1]), at=at) if parts[1:] else shape

    return [(value, depth), *((arg, depth + 1) for arg in args)], build


def _measured(name: str, usage: str) -> Callable[[Source, ast.Call, ast.expr, int], Plan]:
    def read(source: Source, node: ast.Call, value: ast.expr, depth: int) -> Plan:
        _arguments(source, node, (0,), usage)
        at = source.offset(node.col_offset)
        return [(value, depth)], lambda parts: Attribute(parts[0], name, at=at)

    return read


def _cast(source: Source, node: ast.Call, value: ast.expr, depth: int, name: str) -> Plan:
    """`x.double()` is `x.to(torch.float64)`."""
    _arguments(source, node, (0,), f"x.to(torch.{name})")
    at = source.offset(node.col_offset)
    return [(value, depth)], lambda parts: Call("to", (parts[0], Dtype(name, at=at)), at=at)


def _slice(source: Source, node: ast.Call, depth: int) -> Plan:
    """`slice(1, None)` is what `1:` is inside an index; an op that takes an index is called with it."""
    args = _arguments(source, node, (1, 2, 3), "slice(stop), slice(start, stop) or slice(start, stop, step)")
    at = source.offset(node.col_offset)

    def build(parts: list[Expr]) -> Expr:
        given = [None if part == Literal(None) else part for part in parts]
        return Slice(*([None, *given] if len(given) == 1 else given), at=at)

    return [(arg, depth + 1) for arg in args], build


_FUNCTIONS: dict[str, Callable[[Source, ast.Call, int], Plan | None]] = {
    "grad": _grad,
    "no_grad": _no_grad,
    "len": _measure("len"),
    "numel": _measure("numel"),
    "slice": _slice,
    "float": _float,
    "complex": _complex,
}
_METHODS: dict[str, Callable[[Source, ast.Call, ast.expr, int], Plan]] = {
    "size": _size,
    "dim": _measured("ndim", "x.dim()"),
    "ndimension": _measured("ndim", "x.dim()"),
    "numel": _measured("numel", "x.numel()"),
    "nelement": _measured("numel", "x.numel()"),
}
WORDS = tuple(_FUNCTIONS)
METHOD_WORDS = tuple(_METHODS)
