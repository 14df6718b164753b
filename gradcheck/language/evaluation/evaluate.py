"""The value of an expression: a host applies ops, plain Python the rest.

An expression is compiled to a flat list of stack instructions, so that evaluation is fast and not recursive.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from gradcheck.autograd.modes import quiet
from gradcheck.errors import ArgumentError, InvalidCase
from gradcheck.language.evaluation import scalar_arithmetic
from gradcheck.language.evaluation.host import NUMPY, Host, OpCall, apply, apply_operator
from gradcheck.language.evaluation.result_size import MAX_ELEMENTS
from gradcheck.language.expr.nodes import (
    Attribute,
    Call,
    Derivative,
    Dtype,
    Expr,
    Gradient,
    Literal,
    Name,
    Named,
    Sequence,
    Slice,
)
from gradcheck.language.expr.torch_names import constant
from gradcheck.language.expr.traverse import postorder
from gradcheck.language.suggest import did_you_mean

#: A kind of node; its op, name, constant or form; and the number of values it takes from the stack.
Instruction: TypeAlias = tuple[type[Expr], Any, int]
Program: TypeAlias = tuple[Instruction, ...]


_CACHE_SIZE = 20_000
#: By identity, since hashing an expression costs as much as compiling it. The expression is kept so that its id stays
#: its own.
_cache: dict[int, tuple[Expr, Program]] = {}


def program(expr: Expr) -> Program:
    """Return the cached instructions of an expression."""
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
            what = OpCall.of(op, len(args), tuple(key for key, _ in kwargs))
        case Named(name) | Attribute(_, name):
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


def evaluate(
    expr: Expr,
    names: Mapping[str, Any],
    host: Host = NUMPY,
    gradients: Mapping[str, Any] | None = None,
    *,
    max_elements: int | None = MAX_ELEMENTS,
) -> Any:
    """Return the value of `expr`.

    `names` maps names to values, `gradients` maps `name` to the value of `grad(name)`, and `jacobian(y, x)` to that of
    the derivative. TooLarge is raised before a
    tensor of more than `max_elements` elements is made. None skips this check, for expressions already evaluated on
    arguments of the same kinds and shapes. Raises InvalidCase for an unknown name, and the TensorErrors of ops.
    """
    stack: list[Any] = []
    push, pop = stack.append, stack.pop
    with quiet():
        for instruction in program(expr):
            kind, what, count = instruction
            if kind is Name:
                try:
                    push(names[what])
                except KeyError:
                    push(_constant_value(what, names, host))
            elif kind is Call and what.is_infix:
                right = pop()
                push(apply_operator(what, pop(), right, host, max_elements))
            else:
                start = len(stack) - count
                parts = stack[start:]
                del stack[start:]
                push(run_instruction(instruction, parts, names, host, gradients, max_elements=max_elements))
    return pop()


_instructions: dict[tuple[type[Expr], tuple[Any, ...]], Instruction] = {}


def evaluate_node(node: Expr, parts: list[Any], *, max_elements: int = MAX_ELEMENTS) -> Any:
    """Return the value of a node, given those of its children."""
    key = (type(node), node.label)
    known = _instructions.get(key)
    if known is None:
        known = _instructions[key] = _instruction(node)
    with quiet():
        return run_instruction(known, parts, {}, NUMPY, max_elements=max_elements)


def run_instruction(
    instruction: Instruction,
    parts: list[Any],
    names: Mapping[str, Any],
    host: Host,
    gradients: Mapping[str, Any] | None = None,
    *,
    max_elements: int | None = MAX_ELEMENTS,
) -> Any:
    """Return the value of one instruction."""
    kind, what, _ = instruction
    if kind is Call:
        if what.is_infix:
            return apply_operator(what, parts[0], parts[1], host, max_elements)
        return apply(what, parts, host, max_elements)
    if kind is Name:
        return names[what] if what in names else _constant_value(what, names, host)
    if kind is Literal:
        return what
    if kind is Derivative:
        if gradients is None or what not in gradients:
            raise InvalidCase(f"{what} is not known here")
        return gradients[what]
    return _gradient(what, gradients) if kind is Gradient else _evaluate_other(kind, what, parts, host)


def _evaluate_other(kind: type[Expr], what: Any, parts: list[Any], host: Host) -> Any:
    """Return a sequence, an attribute, a dtype or a slice."""
    if kind is Sequence:
        return tuple(parts) if what else parts
    if kind is Attribute:
        return _attribute(parts[0], what)
    if kind is Dtype:
        return host.dtype(what)
    rest = iter(parts)
    return slice(*(None if is_missing else scalar_arithmetic.slice_bound(next(rest)) for is_missing in what))


def _attribute(value: Any, name: str) -> Any:
    """Return `x.shape` and its like; `len` of a shape too."""
    if name == "len" and isinstance(value, (tuple, list)):
        return len(value)
    if not hasattr(value, "dtype"):
        hint = "it is several tensors; index it first" if isinstance(value, (tuple, list)) else ""
        raise ArgumentError(f"only a tensor has .{name}", hint=hint)
    shape = tuple(value.shape)
    if name == "len":
        if not shape:
            raise ArgumentError("a tensor without dimensions has no len")
        return shape[0]
    known = {"shape": shape, "ndim": len(shape), "numel": math.prod(shape), "dtype": value.dtype}
    if name not in known:
        raise ArgumentError(f"one tensor has no part '{name}'")
    return known[name]


def _constant_value(name: str, names: Mapping[str, Any], host: Host) -> Any:
    word = constant(name)
    if word is None:
        raise InvalidCase(f"unknown name '{name}'", hint=did_you_mean(name, names))
    return word.value if isinstance(word, Literal) else host.dtype(word.name)


def _gradient(name: str, gradients: Mapping[str, Any] | None) -> Any:
    if gradients is None:
        hint = "it is for `formulas`, `wrong_formulas`, `let` and `checks`"
        raise InvalidCase(f"grad({name}) where no backward pass has run", hint=hint)
    if name not in gradients:
        raise InvalidCase(f"grad({name}) names no tensor of the case", hint=did_you_mean(name, gradients))
    if gradients[name] is None:
        raise ArgumentError(f"grad({name}) is asked for, but the backward pass leaves no gradient there")
    return gradients[name]
