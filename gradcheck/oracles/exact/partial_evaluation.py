"""Expressions at the points of one problem; constants are computed once.

Constants are shapes, and what depends on shapes and numbers alone; also which arguments an op accepts, the size of its
result, and the order of its rule's arguments. The rest is a program of rules, on values that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gradcheck.autograd import ops
from gradcheck.autograd.modes import quiet
from gradcheck.autograd.op import Op
from gradcheck.errors import GradcheckError, Unsupported
from gradcheck.language.evaluation.evaluate import Instruction, evaluate, program, run_instruction
from gradcheck.language.evaluation.host import OP_ERRORS, NumPy, OpCall, check
from gradcheck.language.evaluation.result_size import MAX_ELEMENTS
from gradcheck.language.expr.nodes import Attribute, Call, Derivative, Dtype, Expr, Gradient, Literal, Name
from gradcheck.language.random_streams import RANDOM_OPS
from gradcheck.oracles.exact import modular_arithmetic
from gradcheck.oracles.exact.dual_numbers import EXACT_RULES, Dual, Indicator, apply_rule, lift
from gradcheck.oracles.exact.field_point import FieldPoint

_NUMBERS = frozenset({int, float, bool})
_DUALS = frozenset({Dual, Indicator})
_HASHABLE = _NUMBERS | {Dual, str, type(None)}
#: Types of arguments that a rule takes directly.
_KNOWN = _DUALS | _HASHABLE | {tuple, list, slice, np.ndarray}


class RuleCall(NamedTuple):
    """A call of a rule: `places` are filled from the stack, the last first."""

    function: Callable[..., Any]
    given: list[Any]
    places: tuple[int, ...]
    operands: tuple[int, ...]


#: Ops with valid shapes and settings.
CheckedCalls: TypeAlias = set[tuple[Any, ...]]
ResidualProgram: TypeAlias = tuple[Instruction | RuleCall, ...]


class PointEvaluator:
    """Expressions at the points of one problem, whose shapes are constant."""

    def __init__(self) -> None:
        #: By identity; the expressions are kept, so that no other has the same.
        self._residual_programs: dict[int, tuple[Expr, ResidualProgram]] = {}
        self._checked_calls: CheckedCalls = set()

    def of(
        self, expr: Expr, names: Mapping[str, Any], host: DualHost, gradients: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the value. Raises what `evaluate` does."""
        known = self._residual_programs.get(id(expr))
        try:
            if known is not None:
                return run_residual(known[1], names, host, gradients)
            value, left = evaluate_partially(expr, names, host, gradients, self._checked_calls)
        except (GradcheckError, *OP_ERRORS):  # the full evaluation has the message
            return evaluate(expr, names, host, gradients, max_elements=MAX_ELEMENTS if known is None else None)
        self._residual_programs[id(expr)] = (expr, left)
        return value


def evaluate_partially(
    expr: Expr, names: Mapping[str, Any], host: DualHost, gradients: Mapping[str, Any] | None, fitting: CheckedCalls
) -> tuple[Any, ResidualProgram]:
    """Return the value, and the program that is left for other points."""
    point = host.point
    left: list[Instruction | RuleCall | None] = []
    #: The value of each part on the stack, the start of its instructions, and whether it is constant.
    values: list[Any] = []
    begins: list[int] = []
    constants: list[bool] = []
    with quiet():
        for instruction in program(expr):
            kind, what, count = instruction
            if kind is Name and type(names.get(what)) in _DUALS:
                begins.append(len(left))
                left.append(instruction)
                values.append(names[what])
                constants.append(False)
                continue
            start = len(values) - count
            parts, same, first = values[start:], constants[start:], begins[start:]
            del values[start:], constants[start:], begins[start:]
            direct = _call_directly(what, parts, same, point, fitting) if kind is Call and not all(same) else None
            begin = first[0] if count else len(left)
            is_constant = False
            if direct is not None:
                value = direct[0]
                for place, is_alike in zip(first, same, strict=True):
                    if is_alike:
                        left[place] = None
                left.append(direct[1])
            else:
                value = run_instruction(instruction, parts, names, host, gradients, max_elements=MAX_ELEMENTS)
                is_constant = _is_constant(kind, what, value, same)
                if is_constant:
                    left[begin:] = [(Literal, value, 0)]
                else:
                    left.append(instruction)
            values.append(value)
            begins.append(begin)
            constants.append(is_constant)
    return values[0], tuple(one for one in left if one is not None)


def run_residual(
    left: ResidualProgram, names: Mapping[str, Any], host: DualHost, gradients: Mapping[str, Any] | None
) -> Any:
    """Return the value at another point; errors of rules are unchanged."""
    point = host.point
    stack: list[Any] = []
    push, pop = stack.append, stack.pop
    with quiet():
        for one in left:
            if isinstance(one, RuleCall):
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
                push(run_instruction(one, parts, names, host, gradients, max_elements=None))
    return pop()


def _called(function: Callable[..., Any], given: list[Any], operands: tuple[int, ...], point: FieldPoint) -> Any:
    for place in operands:
        if not isinstance(given[place], Dual):
            given[place] = lift(point, given[place])
    return function(*given)


def _is_constant(kind: type[Expr], what: Any, value: Any, same: list[bool]) -> bool:
    """Return whether a part is equal at all points, such as sizes and shapes."""
    if kind is Name:
        return type(value) in _NUMBERS or isinstance(value, np.dtype)
    if kind in (Gradient, Derivative) or (kind is Call and what.op.name in RANDOM_OPS):
        return False
    return kind in (Attribute, Dtype) or all(same)


@cache
def _argument_order(op: Op, positional: int, keys: tuple[str, ...]) -> tuple[list[Any], tuple[int, ...]] | None:
    """Return all arguments with defaults, and the index of each given one."""
    if op.sequence is not None or op.variadic is not None:
        return None
    given = [object() for _ in range(positional + len(keys))]
    bound = op.bind(tuple(given[:positional]), dict(zip(keys, given[positional:], strict=True)))
    return list(bound), tuple(bound.index(one) for one in given)


def _call_directly(
    call: OpCall, parts: list[Any], same: list[bool], point: FieldPoint, fitting: CheckedCalls
) -> tuple[Any, RuleCall] | None:
    """Return the result of a rule, and the call for other points.

    None if the op must look at the arguments: there are casts, or no dual number now or at another point. Errors of the
    op are raised unchanged.
    """
    kinds = set(map(type, parts))
    if kinds.isdisjoint(_DUALS) or not kinds <= _KNOWN:
        return None
    op, rule = call.op, EXACT_RULES.get(call.op.name)
    order = _argument_order(op, call.positional_count, call.keys)
    if order is None or not (op.composite or (rule is not None and rule.operands)):
        return None
    settings = (op, call.keys, *map(_argument_key, parts)) if kinds <= _HASHABLE else None
    if settings is None or settings not in fitting:
        check(call, parts, MAX_ELEMENTS)
        if settings is not None:
            fitting.add(settings)
    function, operands = (op.forward, ()) if rule is None or op.composite else (rule.function, rule.operands)
    given, kept = order[0].copy(), order[0].copy()
    places = []
    for place, part, is_constant in zip(order[1], parts, same, strict=True):
        given[place] = part
        if is_constant:
            given[place] = kept[place] = _as_integers(part) if place in operands else part
        else:
            places.append(place)
    return _called(function, given, operands, point), RuleCall(function, kept, tuple(reversed(places)), operands)


def _argument_key(part: Any) -> Any:
    """Return what an op validates before it computes."""
    return part.shape if type(part) is Dual else (type(part), part)


def _as_integers(value: Any) -> Any:
    """Return integral floats as integers, since residues have no dtype."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        found = modular_arithmetic.as_integers(value)
        return value if found is None else found
    is_whole = type(value) is float and value.is_integer() and abs(value) < modular_arithmetic.LARGEST
    return int(value) if is_whole else value


class DualHost(NumPy):
    """NumPy's host, with the exact rules for dual numbers."""

    def __init__(self, point: FieldPoint) -> None:
        self.point = point

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if op.name in EXACT_RULES and not op.composite:
            bound = op.bind(args, kwargs)
            kinds = set(map(type, bound))
            if Dual in kinds and kinds <= _HASHABLE:
                return apply_rule(self.point, op, bound)
        if op.name == "tensor" and _holds_dual(args):
            made, dtype = ops.detach(self._tensor(args[0])), kwargs.get("dtype")
            return made if dtype is None else ops.to(made, dtype)
        return op(*args, **kwargs)

    def _tensor(self, data: Any) -> Any:
        """Return nested lists with dual numbers in them as one."""
        if isinstance(data, (list, tuple)):
            return ops.stack([self._tensor(one) for one in data])
        if isinstance(data, Indicator):
            raise Unsupported("lists of booleans, whose sums are booleans, or integers")
        return lift(self.point, data)


def _holds_dual(data: Any) -> bool:
    return any(map(_holds_dual, data)) if isinstance(data, (list, tuple)) else isinstance(data, Dual)
