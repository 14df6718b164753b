"""An expression as a flat list of instructions for a stack, so that its evaluation neither recurses nor dawdles."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

from gradcheck.autograd.op import Op, lookup
from gradcheck.errors import InvalidCase
from gradcheck.language.expr import Attribute, Call, Dtype, Expr, Gradient, Literal, Name, Sequence, Slice
from gradcheck.language.scalars import ARITHMETIC


class Code(IntEnum):
    """What an instruction does to the stack."""

    LOAD = 0  # push the value of a name
    APPLY = 1  # take the arguments, push an op's result
    PUSH = 2  # push a constant
    SEQUENCE = 3  # take the items, push a list or a tuple
    ATTRIBUTE = 4  # replace a value by its shape, …
    SLICE = 5  # take the parts that are there, push a slice
    DTYPE = 6  # push the host's dtype of that name
    GRADIENT = 7  # push the gradient of a name


class Application(NamedTuple):
    """An op with what is known of its call beforehand."""

    op: Op
    positional: int
    keys: tuple[str, ...]
    arithmetic: bool  # an operator that plain numbers have too
    measured: bool  # its result may be larger than its arguments


Instruction = tuple[int, Any, Any]
Program = tuple[Instruction, ...]

_OPERATORS = frozenset({*ARITHMETIC, "neg", "bitwise_not"})
_CACHE_SIZE = 20_000
#: By identity: hashing an expression would cost as much as compiling it. The expression is kept, so its id is its own.
_cache: dict[int, tuple[Expr, Program]] = {}


def program(expr: Expr) -> Program:
    """The instructions of an expression, kept for the next time."""
    known = _cache.get(id(expr))
    if known is not None:
        return known[1]
    made = compile_expr(expr)
    if len(_cache) >= _CACHE_SIZE:
        _cache.clear()
    _cache[id(expr)] = (expr, made)
    return made


def compile_expr(expr: Expr) -> Program:
    """The instructions of an expression. Raises InvalidCase for an op that is not in the table."""
    found: list[Instruction] = []
    stack = [expr]
    while stack:  # last operand first; turned round at the end
        node = stack.pop()
        found.append(_instruction(node))
        stack.extend(node.children)
    found.reverse()
    return tuple(found)


def _instruction(node: Expr) -> Instruction:
    match node:
        case Name(name):
            return (Code.LOAD, name, None)
        case Call(op, args, kwargs):
            return (Code.APPLY, _application(op, len(args), tuple(key for key, _ in kwargs)), len(args) + len(kwargs))
        case Literal(value):
            return (Code.PUSH, value, None)
        case Sequence(items, is_tuple):
            return (Code.SEQUENCE, is_tuple, len(items))
        case Attribute(_, name):
            return (Code.ATTRIBUTE, name, None)
        case Slice():
            return (Code.SLICE, tuple(not missing for missing in node.label), None)
        case Dtype(name):
            return (Code.DTYPE, name, None)
        case Gradient(name):
            return (Code.GRADIENT, name, None)
    raise TypeError(f"{type(node).__name__} is no expression")


def _application(name: str, positional: int, keys: tuple[str, ...]) -> Application:
    op = lookup(name)
    if op is None:
        raise InvalidCase(f"there is no op '{name}'")
    arithmetic = name in _OPERATORS and not keys
    return Application(op, positional, keys, arithmetic, op.elementwise or op.elements is not None)
