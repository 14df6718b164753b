"""An expression as a flat list of instructions for a stack, so that its evaluation neither recurses nor dawdles."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradcheck.autograd.op import Op, lookup
from gradcheck.errors import InvalidCase
from gradcheck.language.evaluation.scalars import ARITHMETIC
from gradcheck.language.expr.nodes import Attribute, Call, Dtype, Expr, Gradient, Literal, Name, Sequence, Slice
from gradcheck.language.expr.traverse import postorder

# What an instruction does to the stack. Plain integers: an enum's cost more to compare than the rest of a step.
LOAD = 0  # push the value of a name
OPERATE = 1  # take two operands, push what an operator makes of them
APPLY = 2  # take the arguments, push an op's result
PUSH = 3  # push a constant
SEQUENCE = 4  # take the items, push a list or a tuple
ATTRIBUTE = 5  # take a value, push its shape, …
SLICE = 6  # take the parts that are there, push a slice
DTYPE = 7  # push the host's dtype of that name
GRADIENT = 8  # push the gradient of a name


class Application(NamedTuple):
    """An op with what is known of its call beforehand."""

    op: Op
    positional: int
    keys: tuple[str, ...]
    operator: bool  # it is written as an operator, which plain values have too
    measured: bool  # its result may be larger than its arguments
    needs_tensor: bool  # it makes no tensor of numbers alone, as `zeros` does
    repeats: bool  # it is written in Python's operators, which would repeat a list


#: What to do, with which name, op or constant, and how many values it takes from the stack.
Instruction = tuple[int, Any, int]
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
    return tuple(_instruction(node) for node in postorder(expr))


def _instruction(node: Expr) -> Instruction:
    match node:
        case Name(name):
            return (LOAD, name, 0)
        case Call(op, args, kwargs):
            call = _application(op, len(args), tuple(key for key, _ in kwargs))
            return (OPERATE if call.operator and len(args) == 2 else APPLY, call, len(args) + len(kwargs))
        case Literal(value):
            return (PUSH, value, 0)
        case Sequence(items, is_tuple):
            return (SEQUENCE, is_tuple, len(items))
        case Attribute(_, name):
            return (ATTRIBUTE, name, 1)
        case Slice():
            return (SLICE, tuple(not missing for missing in node.label), len(node.children))
        case Dtype(name):
            return (DTYPE, name, 0)
        case Gradient(name):
            return (GRADIENT, name, 0)
    raise TypeError(f"{type(node).__name__} is no expression")


def _application(name: str, positional: int, keys: tuple[str, ...]) -> Application:
    op = lookup(name)
    if op is None:
        raise InvalidCase(f"there is no op '{name}'")
    operator = name in _OPERATORS and not keys
    measured = op.elements is not None or positional + len(keys) > 1 or not op.elementwise
    return Application(op, positional, keys, operator, measured, _needs_tensor(op), _repeats(op))


def _repeats(op: Op) -> bool:
    return op.composite and not any(parameter.name in ("size", op.variadic) for parameter in op.parameters)


def _needs_tensor(op: Op) -> bool:
    of_tensors = op.method or op.composite or any(op.rules)
    return of_tensors or (bool(op.parameters) and op.parameters[0].name == "input")
