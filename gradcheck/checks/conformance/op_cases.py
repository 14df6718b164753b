"""A case for each call of each op: over shapes, or as in its samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.autograd.op import Op, every_name, lookup, whole_table
from gradcheck.autograd.tensor import Tensor
from gradcheck.engines.recording import arrays, convert
from gradcheck.errors import Place, UsageError
from gradcheck.language.case import Case, Claim, Step, Value
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NumPy
from gradcheck.language.expr.nodes import Call, Expr, Name
from gradcheck.language.expr.nodes import Sequence as Items
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.random_streams import RANDOM_OPS, stream
from gradcheck.language.suggest import did_you_mean
from gradcheck.language.symbolic.formula import to_expr

_DOUBLE = np.dtype(np.float64)
#: Equal shapes, shapes that broadcast, and 0-d.
_SHAPES: dict[int, tuple[tuple[tuple[int, ...], ...], ...]] = {
    1: (((2, 3),), ((),)),
    2: (((2, 3), (2, 3)), ((2, 1), (3,)), ((), ())),
    3: (((2, 3), (2, 3), (2, 3)), ((2, 3), (3,), (2, 1))),
}
#: Calls with which samples write numbers.
_LITERALS = ("tensor(", "zeros(", "ones(", "full(")


@dataclass(frozen=True, slots=True, eq=False)
class _OpCall:
    """An op with its arguments; `detached` ones get no gradient."""

    op: Op
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    detached: tuple[np.ndarray, ...] = ()

    def wants_gradient(self, array: np.ndarray) -> bool:
        return dtypes.is_differentiable(array.dtype) and not any(array is other for other in self.detached)

    def apply_to(self, change: Callable[[np.ndarray], Any]) -> Any:
        kwargs = {name: convert(value, np.ndarray, change) for name, value in self.kwargs.items()}
        return self.op(*convert(self.args, np.ndarray, change), **kwargs)


def op_cases(names: Sequence[str] = ()) -> list[Case]:
    """Return the cases of these ops, or of all, each tagged with its op."""
    wanted = [_op_of_name(name) for name in names] or [op for op in whole_table().values() if _is_for_engines(op)]
    return [case for op in wanted for case in _cases(op)]


def _op_of_name(name: str) -> Op:
    found = lookup(name)
    if found is None:
        raise UsageError(
            f"there is no op '{name}'", hint=did_you_mean(name, every_name(), "gradcheck ops lists them all")
        )
    return found


def _is_for_engines(op: Op) -> bool:
    return bool(op.torch) and (op.composite or any(op.rules)) and op.name not in RANDOM_OPS


def _cases(op: Op) -> Iterator[Case]:
    generator = stream(0, "conformance", op.name)
    with using_default_dtype(_DOUBLE), quiet():
        for number, applied in enumerate(_applications(op, generator)):
            case = _case(applied, number, generator)
            if case is not None:
                yield case


def _applications(op: Op, generator: np.random.Generator) -> Iterator[_OpCall]:
    """Yield calls over shapes, with numbers of the domain, then samples."""
    if op.elementwise and op.domain:
        for shapes in _SHAPES[len(op.domain)]:
            drawn = [np.asarray(generator.uniform(*b, shape)) for b, shape in zip(op.domain, shapes, strict=True)]
            if op.masked:
                drawn[0] = np.asarray(drawn[0] > 0.5)
            yield _OpCall(op, tuple(drawn), {})
    for sample in op.samples:
        if "dtype=" in sample or (op.kinks and any(word in sample for word in _LITERALS)):
            continue  # not double precision, or on a kink, where conventions differ
        host = _RecordingNumPy(generator)
        evaluate(parse(sample), {}, host)
        last = [applied for applied in host.seen if applied.op is op][-1]
        yield replace(last, detached=tuple(host.detached))


class _RecordingNumPy(NumPy):
    """NumPy with random numbers, which records calls and detached arrays."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self.seen: list[_OpCall] = []
        self.detached: list[np.ndarray] = []

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.seen.append(_OpCall(op, args, kwargs))
        more = {"generator": self._generator} if op.name in RANDOM_OPS else {}
        made = op(*args, **kwargs, **more)
        if op.name == "detach":
            self.detached.append(made)
        return made


def _case(applied: _OpCall, number: int, generator: np.random.Generator) -> Case | None:
    """Return the call as a one-entry case; None without a finite gradient."""
    inputs: dict[str, Value] = {}
    constants: dict[str, Value] = {}

    def named(array: np.ndarray) -> Expr:
        is_input = applied.wants_gradient(array)
        home, name = (inputs, f"x{len(inputs)}") if is_input else (constants, f"c{len(constants)}")
        home[name] = Value(array, dtype="" if array.dtype == _DOUBLE else array.dtype.name)
        return Name(name)

    expr = _call_expression(applied, named)
    found = arrays(applied.args, applied.kwargs)
    if any(dtypes.is_differentiable(array.dtype) and array.dtype != _DOUBLE for array in found):
        return None
    roots = _roots(applied, generator)
    results = _parts(applied.apply_to(lambda array: array)).values()
    if not inputs or not roots or not all(np.isfinite(part).all() for part in results):
        return None
    title = f"{applied.op.name}: {to_text(expr)} #{number}"
    return Case(
        id=title,
        name=title,
        place=Place(),
        inputs=inputs,
        constants=constants,
        graph={"y": Claim.of(expr)},
        steps=(Step("backward", roots=roots),),
        tags=(applied.op.name,),
    )


def _parts(result: Any) -> dict[str, Any]:
    return {f"y[{i}]": part for i, part in enumerate(result)} if isinstance(result, tuple) else {"y": result}


def _call_expression(applied: _OpCall, named: Callable[[np.ndarray], Expr]) -> Call:

    def expr_of(value: Any) -> Expr:
        if isinstance(value, np.ndarray):
            return named(value)
        if isinstance(value, (list, tuple)):
            return Items(tuple(map(expr_of, value)), isinstance(value, tuple))
        return to_expr(value)

    args = tuple(map(expr_of, applied.args))
    return Call(applied.op.name, args, tuple((name, expr_of(value)) for name, value in applied.kwargs.items()))


def _roots(applied: _OpCall, generator: np.random.Generator) -> dict[str, Value | None]:
    result = applied.apply_to(lambda array: Tensor(array, requires_grad=applied.wants_gradient(array)))
    return {
        name: Value(generator.standard_normal(part.shape))
        for name, part in _parts(result).items()
        if isinstance(part, Tensor) and part.requires_grad
    }
