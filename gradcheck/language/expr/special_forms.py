"""What is called in an expression and is no op: `grad(x)`, `len(x.shape)`, `x.size(0)`, `x.double()`, `slice(1, 3)`.

A further one is a reader here, and an entry in `_FUNCTIONS` or `_METHODS`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from gradcheck.autograd.op import lookup
from gradcheck.errors import InvalidCase
from gradcheck.language.expr.nodes import Attribute, Call, Dtype, Expr, Gradient, Literal, Slice
from gradcheck.language.expr.notation import torch_dtype
from gradcheck.language.expr.syntax import Plan, Source, signed


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call that is to be read: `node` in its `source`, so many brackets deep."""

    source: Source
    node: ast.Call
    depth: int

    @property
    def at(self) -> int:
        """Where it begins in the text."""
        return self.source.at(self.node)

    def error(self, message: str, hint: str = "", at: ast.expr | None = None) -> InvalidCase:
        """An error at the call's beginning, or at that of one of its arguments."""
        return self.source.error(self.source.at(at or self.node), message, hint)

    def arguments(self, counts: tuple[int, ...], usage: str) -> list[ast.expr]:
        """Its arguments. Raises InvalidCase unless there are as many as one of `counts`, and no keywords."""
        if self.node.keywords or len(self.node.args) not in counts:
            raise self.error("wrong arguments", f"it is written {usage}")
        return self.node.args


def plan_function(site: CallSite, name: str) -> Plan | None:
    """How to read `name(…)`; None if that is no special form."""
    read = _FUNCTIONS.get(name)
    return read(site) if read else None


def plan_method(site: CallSite, owner: ast.expr, name: str) -> Plan | None:
    """How to read `owner.name(…)`; None if that is no special form."""
    read = _METHODS.get(name)
    if read is not None:
        return read(site, owner)
    if torch_dtype(name) and lookup(name) is None:
        return _cast(site, owner, torch_dtype(name))
    return None


# Functions --------------------------------------------------------------------------------------


def _grad(site: CallSite) -> Plan:
    arg = first = site.arguments((1,), "grad(x), with the name of a tensor")[0]
    index = ""
    if isinstance(arg, ast.Subscript) and isinstance(arg.slice, ast.Constant) and type(arg.slice.value) is int:
        index = f"[{arg.slice.value}]"
        arg = arg.value
    if not isinstance(arg, ast.Name):
        hint = "give the expression a name of its own, in `graph`"
        raise site.error("grad(…) takes the name of a tensor", hint, at=first)
    gradient = Gradient(arg.id + index, at=site.at)
    return [], lambda parts: gradient


def _no_grad(site: CallSite) -> Plan:
    (arg,) = site.arguments((1,), "no_grad(expression)")
    return [(arg, site.depth + 1)], lambda parts: Call("detach", (parts[0],), at=site.at)


def measure(site: CallSite, name: str) -> Plan:
    """`len(x)` and `numel(x)`."""
    (arg,) = site.arguments((1,), f"{name}(x)")
    return [(arg, site.depth + 1)], lambda parts: Attribute(parts[0], name, at=site.at)


def _slice(site: CallSite) -> Plan:
    """`slice(1, None)` is what `1:` is inside an index; an op that takes an index is called with it."""
    args = site.arguments((1, 2, 3), "slice(stop), slice(start, stop) or slice(start, stop, step)")

    def build(parts: list[Expr]) -> Expr:
        given = [None if part == Literal(None) else part for part in parts]
        return Slice(*([None, *given] if len(given) == 1 else given), at=site.at)

    return [(arg, site.depth + 1) for arg in args], build


def _float(site: CallSite) -> Plan:
    (arg,) = site.arguments((1,), "float('inf'), float('-inf') or float('nan')")
    given = arg.value if isinstance(arg, ast.Constant) and isinstance(arg.value, str) else signed(arg)
    try:
        if given is None or isinstance(given, complex):
            raise ValueError
        value = float(given)
    except (ValueError, OverflowError):
        message = "float(…) takes a number written out, as in float('-inf')"
        raise site.error(message, at=arg) from None
    return [], lambda parts: Literal(value, at=site.at)


def _complex(site: CallSite) -> Plan | None:
    """`complex(1, 2)` is a number; anything else is the op of that name."""
    numbers = [signed(arg) for arg in site.node.args]
    real = [number for number in numbers if isinstance(number, (int, float))]
    if site.node.keywords or len(numbers) != 2 or len(real) != 2:
        return None
    return [], lambda parts: Literal(complex(*real), at=site.at)


# Methods ----------------------------------------------------------------------------------------


def _size(site: CallSite, owner: ast.expr) -> Plan:
    """`x.size(0)` is `x.shape[0]`."""
    keywords = [keyword for keyword in site.node.keywords if keyword.arg == "dim"]
    args = [*site.node.args, *(keyword.value for keyword in keywords)]
    if len(args) > 1 or len(keywords) < len(site.node.keywords):
        raise site.error("wrong arguments", "it is written x.size() or x.size(0)")

    def build(parts: list[Expr]) -> Expr:
        shape = Attribute(parts[0], "shape", at=site.at)
        return Call("getitem", (shape, parts[1]), at=site.at) if parts[1:] else shape

    return [(owner, site.depth), *((arg, site.depth + 1) for arg in args)], build


def _attribute(site: CallSite, owner: ast.expr, name: str, usage: str) -> Plan:
    """`x.dim()` is `x.ndim`."""
    site.arguments((0,), usage)
    return [(owner, site.depth)], lambda parts: Attribute(parts[0], name, at=site.at)


def _cast(site: CallSite, owner: ast.expr, name: str) -> Plan:
    """`x.double()` is `x.to(torch.float64)`."""
    site.arguments((0,), f"x.to(torch.{name})")
    return [(owner, site.depth)], lambda parts: Call("to", (parts[0], Dtype(name, at=site.at)), at=site.at)


_FUNCTIONS: dict[str, Callable[[CallSite], Plan | None]] = {
    "grad": _grad,
    "no_grad": _no_grad,
    "len": partial(measure, name="len"),
    "numel": partial(measure, name="numel"),
    "slice": _slice,
    "float": _float,
    "complex": _complex,
}
_METHODS: dict[str, Callable[[CallSite, ast.expr], Plan]] = {
    "size": _size,
    "dim": partial(_attribute, name="ndim", usage="x.dim()"),
    "ndimension": partial(_attribute, name="ndim", usage="x.dim()"),
    "numel": partial(_attribute, name="numel", usage="x.numel()"),
    "nelement": partial(_attribute, name="numel", usage="x.numel()"),
}
#: Their names, as functions and as methods.
FUNCTIONS, METHODS = tuple(_FUNCTIONS), tuple(_METHODS)
