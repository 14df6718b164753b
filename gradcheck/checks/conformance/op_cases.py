"""A case for every call of every op that its entry shows: elementwise ops over shapes, others as in their samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import gradcheck.autograd.ops  # noqa: F401 (it fills the table)
from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.autograd.op import TABLE, Op, lookup
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
from gradcheck.language.random import stream
from gradcheck.language.suggest import did_you_mean
from gradcheck.language.symbolic.formula import to_expr

_DOUBLE = np.dtype(np.float64)
#: Equal shapes, shapes that broadcast, and 0-d.
_SHAPES: dict[int, tuple[tuple[tuple[int, ...], ...], ...]] = {
    1: (((2, 3),), ((),)),
    2: (((2, 3), (2, 3)), ((2, 1), (3,)), ((), ())),
    3: (((2, 3), (2, 3), (2, 3)), ((2, 3), (3,), (2, 1))),
}
#: How samples write out numbers.
_LITERALS = ("tensor(", "zeros(", "ones(", "full(")
#: An op as it was applied: arguments, keyword arguments, and the arrays that want no gradient.
_Applied = tuple[tuple[Any, ...], dict[str, Any], list[np.ndarray]]


def op_cases(names: Sequence[str] = ()) -> list[Case]:
    """The cases of these ops, or of all that have gradients and a counterpart. Each is tagged with its op."""
    wanted = [_known(name) for name in names] or [op for op in TABLE.values() if _is_for_engines(op)]
    return [case for op in wanted for case in _cases(op)]


def _known(name: str) -> Op:
    found = lookup(name)
    if found is None:
        raise UsageError(f"there is no op '{name}'", hint=did_you_mean(name, TABLE, "gradcheck ops lists them all"))
    return found


def _is_for_engines(op: Op) -> bool:
    draws = any(parameter.name == "generator" for parameter in op.parameters)
    return bool(op.torch) and (op.composite or any(op.rules)) and not draws


def _cases(op: Op) -> Iterator[Case]:
    generator = stream(0, "conformance", op.name)
    with using_default_dtype(_DOUBLE), quiet():
        for number, applied in enumerate(_applications(op, generator)):
            case = _case(op, number, applied, generator)
            if case is not None:
                yield case


def _applications(op: Op, generator: np.random.Generator) -> Iterator[_Applied]:
    if op.elementwise and op.domain:
        for shapes in _SHAPES[len(op.domain)]:
            drawn: list[np.ndarray] = [
                np.asarray(generator.uniform(*b, shape)) for b, shape in zip(op.domain, shapes, strict=True)
            ]
            if op.masked:
                drawn[0] = np.asarray(drawn[0] > 0.5)
            yield tuple(drawn), {}, []
    for sample in op.samples:
        if "dtype=" in sample or (op.kinks and any(word in sample for word in _LITERALS)):
            continue  # the result is no double, or chosen to lie on a kink, where conventions differ
        host = _Watching(generator)
        evaluate(parse(sample), {}, host)
        args, kwargs = [(args, kwargs) for applied, args, kwargs in host.seen if applied is op][-1]
        yield args, kwargs, host.detached


class _Watching(NumPy):
    """NumPy with random numbers, which notes how it is asked to apply ops and what is detached."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self.seen: list[tuple[Op, tuple[Any, ...], dict[str, Any]]] = []
        self.detached: list[np.ndarray] = []

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op's result."""
        self.seen.append((op, args, kwargs))
        draws = any(parameter.name == "generator" for parameter in op.parameters)
        made = op(*args, **kwargs, generator=self._generator) if draws else op(*args, **kwargs)
        if op.name == "detach":
            self.detached.append(made)
        return made


def _case(op: Op, number: int, applied: _Applied, generator: np.random.Generator) -> Case | None:
    """The call as a graph of one entry, pulled back along a random gradient; None where no gradient flows."""
    args, kwargs, detached = applied
    inputs: dict[str, Value] = {}
    constants: dict[str, Value] = {}

    def named(array: np.ndarray) -> Expr:
        free = dtypes.is_differentiable(array.dtype) and not any(array is other for other in detached)
        home, name = (inputs, f"x{len(inputs)}") if free else (constants, f"c{len(constants)}")
        home[name] = Value(array, dtype=array.dtype.name)
        return Name(name)

    expr = Call(
        op.name, _written(args, named), tuple(zip(kwargs, _written(tuple(kwargs.values()), named), strict=True))
    )
    found = list(arrays(args, kwargs))
    if any(array.dtype.kind in "cV" or array.dtype.itemsize < 8 for array in found if array.dtype.kind in "fcV"):
        return None
    roots = _roots(op, applied, generator)
    if not inputs or not roots or not _is_finite(op(*args, **kwargs)):
        return None
    title = f"{op.name}: {to_text(expr)}"
    return Case(
        id=f"{title} #{number}",
        name=f"{title} #{number}",
        place=Place("ops"),
        inputs=inputs,
        constants=constants,
        graph={"y": Claim.of(expr)},
        steps=(Step("backward", roots=roots),),
        tags=(op.name,),
    )


def _is_finite(result: Any) -> bool:
    parts = result if isinstance(result, tuple) else (result,)
    return all(np.isfinite(part).all() for part in parts)


def _written(values: tuple[Any, ...], named: Any) -> tuple[Expr, ...]:
    converted = convert(values, np.ndarray, named)
    return tuple(_to_expr(value) for value in converted)


def _to_expr(value: Any) -> Expr:
    if isinstance(value, Expr):
        return value
    if isinstance(value, (list, tuple)):
        return Items(tuple(map(_to_expr, value)), isinstance(value, tuple))
    return to_expr(value)


def _roots(op: Op, applied: _Applied, generator: np.random.Generator) -> dict[str, Value | None]:
    """Every part of the result through which gradients flow, with a random one."""
    args, kwargs, detached = applied

    def leaf(array: np.ndarray) -> Tensor:
        return Tensor(array, requires_grad=array.dtype == _DOUBLE and not any(array is other for other in detached))

    result = op(
        *convert(args, np.ndarray, leaf), **{name: convert(value, np.ndarray, leaf) for name, value in kwargs.items()}
    )
    parts = {f"y[{i}]": part for i, part in enumerate(result)} if isinstance(result, tuple) else {"y": result}
    return {
        name: Value(generator.standard_normal(part.shape), dtype="float64")
        for name, part in parts.items()
        if isinstance(part, Tensor) and part.requires_grad
    }
