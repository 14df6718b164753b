"""Expressions as the points of one problem have them: what is the same at all points is computed at the first.

Shapes are, and what is made of shapes and numbers alone; so are what an op may be given, how large its result is, and
in which order its rule takes its arguments. What is left is a program of rules, on values that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gradcheck.autograd.modes import quiet
from gradcheck.autograd.op import TABLE
from gradcheck.language.evaluation.budget import MAX_ELEMENTS
from gradcheck.language.evaluation.evaluate import Instruction, program, step
from gradcheck.language.evaluation.host import Application, Host, check
from gradcheck.language.expr.nodes import Attribute, Call, Dtype, Expr, Gradient, Literal, Name
from gradcheck.language.random import RANDOM
from gradcheck.oracles.exact.dual import EXACT_RULES, Dual, Indicator, lift
from gradcheck.oracles.exact.point import FieldPoint

_NUMBERS = frozenset({int, float, bool})
_DUALS = frozenset({Dual, Indicator})
#: Kinds of arguments that a rule takes without more asking.
_KNOWN = _DUALS | _NUMBERS | {str, type(None), tuple, list, slice, np.ndarray}
#: Whole numbers below this are lifted as integers, in an eighth of the time.
_LARGEST = 2.0**62


class Direct(NamedTuple):
    """A call of a rule: its arguments, but for those at `places`, which are taken from the stack, the last one first;
    those at `operands` must be dual numbers."""

    function: Callable[..., Any]
    given: list[Any]
    places: tuple[int, ...]
    operands: tuple[int, ...]


Program: TypeAlias = tuple[Instruction | Direct, ...]


def shortened(
    expr: Expr, names: Mapping[str, Any], host: Host, gradients: Mapping[str, Any] | None, point: FieldPoint
) -> tuple[Any, Program]:
    """The value of an expression, and what is left to do of it at other points. What a rule raises is raised as it is,
    and not in words."""
    left: list[Instruction | Direct | None] = []
    #: Of each part on the stack its value, where its instructions begin, and whether it is the same at all points.
    values: list[Any] = []
    begins: list[int] = []
    constants: list[bool] = []
    with quiet():
        for instruction in program(expr):
            kind, what, count = instruction
            start = len(values) - count
            parts, same, first = values[start:], constants[start:], begins[start:]
            del values[start:], constants[start:], begins[start:]
            direct = _direct(what, parts, same, point) if kind is Call and not all(same) else None
            if direct is None:
                value = step(instruction, parts, names, host, gradients, max_elements=MAX_ELEMENTS)
            else:
                value, instruction = direct
                for begin, is_constant in zip(first, same, strict=True):
                    if is_constant:
                        left[begin] = None
            begin = first[0] if count else len(left)
            is_constant = direct is None and _is_constant(kind, what, value, same)
            if is_constant:
                left[begin:] = [(Literal, value, 0)]
            else:
                left.append(instruction)
            values.append(value)
            begins.append(begin)
            constants.append(is_constant)
    return values[0], tuple(one for one in left if one is not None)


def replayed(
    left: Program, names: Mapping[str, Any], host: Host, gradients: Mapping[str, Any] | None, point: FieldPoint
) -> Any:
    """The value at another point. What a rule raises is raised as it is, and not in words."""
    stack: list[Any] = []
    push, pop = stack.append, stack.pop
    with quiet():
        for one in left:
            if type(one) is Direct:
                function, given, places, operands = one
                given = given.copy()
                for place in places:
                    given[place] = pop()
                push(_called(function, given, operands, point))
            elif one[0] is Name:
                push(names[one[1]])
            else:
                start = len(stack) - one[2]
                parts = stack[start:]
                del stack[start:]
                push(step(one, parts, names, host, gradients, max_elements=None))
    return pop()


def _called(function: Callable[..., Any], given: list[Any], operands: tuple[int, ...], point: FieldPoint) -> Any:
    for place in operands:
        if not isinstance(given[place], Dual):
            given[place] = lift(point, given[place])
    return function(*given)


def _is_constant(kind: type[Expr], what: Any, value: Any, same: list[bool]) -> bool:
    """Sizes are names, too; a shape is the same whatever has it."""
    if kind is Name:
        return type(value) in _NUMBERS or isinstance(value, np.dtype)
    if kind is Gradient or (kind is Call and what.op.name in RANDOM):
        return False
    return kind in (Attribute, Dtype) or all(same)


class _Form(NamedTuple):
    """How an op's rule takes the arguments of a call: the function, all arguments with their defaults, at which place
    each that is given goes, and which must be dual numbers."""

    function: Callable[..., Any]
    defaults: list[Any]
    order: tuple[int, ...]
    operands: tuple[int, ...]


@cache
def _form(name: str, positional: int, keys: tuple[str, ...]) -> _Form | None:
    """None for what the op itself must look at: lists of tensors, and what need not be a dual number at every point."""
    op, rule = TABLE[name], EXACT_RULES.get(name)
    has_rule = rule is not None and rule.operands
    if op.sequence is not None or op.variadic is not None or not (has_rule or op.composite):
        return None
    given = [object() for _ in range(positional + len(keys))]
    bound = op.bind(tuple(given[:positional]), dict(zip(keys, given[positional:], strict=True)))
    order = tuple(bound.index(one) for one in given)
    if rule is None or op.composite:
        return _Form(op.forward, list(bound), order, ())
    return _Form(rule.function, list(bound), order, rule.operands)


def _direct(call: Application, parts: list[Any], same: list[bool], point: FieldPoint) -> tuple[Any, Direct] | None:
    """What a rule that is called at once makes of these arguments, and the call at other points; None where the op must
    look at them: among them are casts, or no dual numbers. Raises what the op raises, though not in words."""
    kinds = set(map(type, parts))
    if kinds.isdisjoint(_DUALS) or not kinds <= _KNOWN:
        return None
    form = _form(call.op.name, call.positional, call.keys)
    if form is None:
        return None
    check(call, parts, MAX_ELEMENTS)
    given, kept = form.defaults.copy(), form.defaults.copy()
    places = []
    for place, part, is_constant in zip(form.order, parts, same, strict=True):
        given[place] = part
        if is_constant:
            given[place] = kept[place] = _whole(part) if place in form.operands else part
        else:
            places.append(place)
    direct = Direct(form.function, kept, tuple(reversed(places)), form.operands)
    return _called(form.function, given, form.operands, point), direct


def _whole(value: Any) -> Any:
    """Floats that are whole numbers as integers, since a residue is that of a number, whatever it is written in."""
    if type(value) is float:
        return int(value) if value.is_integer() and abs(value) < _LARGEST else value
    if type(value) is np.ndarray and value.dtype == np.float64:
        is_whole = (np.rint(value) == value).all() and (np.abs(value) < _LARGEST).all()
        return value.astype(np.int64) if is_whole else value
    return value
