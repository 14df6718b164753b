"""An expression as a flat list of instructions for a stack, so that its evaluation neither recurses nor dawdles."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from gradcheck.autograd.op import Op, lookup
from gradcheck.errors import InvalidCase
from gradcheck.language.evaluation.scalars import ARITHMETIC
from gradcheck.language.expr.nodes import Attribute, Call, Dtype, Expr, Gradient, Literal, Name, Sequence, Slice
from gradcheck.language.expr.traverse import postorder

#: A kind of node; its op, name, constant or form; and how many values it takes from the stack, to push one.
Instruction: TypeAlias = tuple[type[Expr], Any, int]
Program: TypeAlias = tuple[Instruction, ...]


class Application(NamedTuple):
    """An op with what is known of its call beforehand."""

    op: Op
    positional: int
    keys: tuple[str, ...]
    operator: bool  # it is written as an operator, which plain values have too
    infix: bool  # as one between two operands
    measured: bool  # its result may be larger than its arguments
    needs_tensor: bool  # it makes no tensor of numbers alone, as `zeros` does
    repeats: bool  # it is written in Python's operators, which would repeat a list


_OPERATORS = frozenset({*ARITHMETIC, "neg", "bitwise_not"})
_CACHE_SIZE = 20_000
#: By identity: hashing an expression would cost as much as compiling it. The expression is kept, so its id is its own.
_cache: dict[int, tuple[Expr, Program]] = {}


def program(expr: Expr) -> Program:
    """The instructions of an expression, kept for the next time. Raises InvalidCase for an op that does not exist."""
    known = _cache.get(id(expr))
    if known is not None:
        return known[1]
    made = tuple(map(_instruction, postorder(expr)))
    if len(_cache) >= _CACHE_SIZE:
        _cache.clear()
    _cache[id(expr)] = (expr, made)
    return made


def _instruction(node: Expr) -> Instruction:
    what: Any
    match node:
        case Call(op, args, kwargs):
            what = _application(op, len(args), tuple(key for key, _ in kwargs))
        case Name(name) | Dtype(name) | Gradient(name) | Attribute(_, name):
            what = name
        case Literal(value):
            what = value
        case Sequence(_, is_tuple):
            what = is_tuple
        case Slice():
            what = node.label
        case _:
            raise TypeError(f"{type(node).__name__} is no expression")
    return type(node), what, len(node.children)


def _application(name: str, positional: int, keys: tuple[str, ...]) -> Application:
    op = lookup(name)
    if op is None:
        raise InvalidCase(f"there is no op '{name}'")
    operator = name in _OPERATORS and not keys
    of_tensors = op.method or op.composite or any(op.rules)
    return Application(
        op,
        positional,
        keys,
        operator=operator,
        infix=operator and positional == 2,
        measured=op.elements is not None or positional + len(keys) > 1 or not op.elementwise,
        needs_tensor=of_tensors or (bool(op.parameters) and op.parameters[0].name == "input"),
        repeats=op.composite and not any(parameter.name in ("size", op.variadic) for parameter in op.parameters),
    )
