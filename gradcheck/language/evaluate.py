"""The value of an expression: ops go to a host (NumPy, an engine's tensors), all else is plain Python."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op
from gradcheck.errors import ArgumentError, InvalidCase
from gradcheck.language import budget, names, scalars
from gradcheck.language.budget import MAX_ELEMENTS
from gradcheck.language.expr import Call, Expr, Gradient, Literal, Name, walk
from gradcheck.language.program import Application, Code, program
from gradcheck.language.suggest import did_you_mean


class Host(Protocol):
    """Whoever applies ops: to arrays, or to its own tensors."""

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op's result; several outputs as a tuple."""
        ...

    def dtype(self, name: str) -> Any:
        """The host's own dtype of that torch name."""
        ...


class NumPy:
    """Ops as they are: NumPy arrays stay arrays, and gradcheck's tensors record themselves."""

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return op(*args, **kwargs)

    def dtype(self, name: str) -> Any:
        return dtypes.BY_NAME[name]


NUMPY = NumPy()


def evaluate(
    expr: Expr,
    values: Mapping[str, Any],
    host: Host = NUMPY,
    gradients: Mapping[str, Any] | None = None,
    *,
    max_elements: int = MAX_ELEMENTS,
) -> Any:
    """The value of `expr`, where `values` holds what its names stand for, and `gradients` what `grad(name)` does.

    Raises InvalidCase for a name that means nothing, and TensorErrors: TooLarge before a tensor of more than
    `max_elements` elements is made, and whatever the ops raise.
    """
    stack: list[Any] = []
    for code, what, count in program(expr):
        if code == Code.LOAD:
            try:
                stack.append(values[what])
            except KeyError:
                stack.append(_word(what, values, host))
        elif code == Code.PUSH:
            stack.append(what)
        elif code == Code.APPLY:
            start = len(stack) - count
            given = stack[start:]
            del stack[start:]
            stack.append(_apply(what, given, host, max_elements))
        elif code == Code.SEQUENCE:
            start = len(stack) - count
            items = stack[start:]
            del stack[start:]
            stack.append(tuple(items) if what else items)
        elif code == Code.ATTRIBUTE:
            stack.append(_attribute(stack.pop(), what))
        elif code == Code.SLICE:
            parts = [scalars.bound(stack.pop()) if there else None for there in reversed(what)]
            stack.append(slice(*reversed(parts)))
        elif code == Code.DTYPE:
            stack.append(host.dtype(what))
        else:
            stack.append(_gradient(what, gradients))
    return stack[0]


def _apply(call: Application, given: list[Any], host: Host, limit: int) -> Any:
    op = call.op
    if call.keys:
        args = tuple(given[: call.positional])
        kwargs = dict(zip(call.keys, given[call.positional :], strict=True))
    else:
        args, kwargs = tuple(given), {}
    if args and (type(args[0]) in _NO_TENSORS or not hasattr(args[0], "dtype")):
        value = _apply_plain(call, args, kwargs)
        if value is not _NOT_PLAIN:
            return value
    if call.measured:
        if op.elementwise and list in map(type, args):
            raise ArgumentError(f"{op.name} takes tensors and numbers, not a list",
                                hint="a list becomes a tensor by tensor([1, 2])")  # fmt: skip
        budget.check(op, args, kwargs, limit)
    return host.call(op, args, kwargs)


def _apply_plain(call: Application, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result where no tensor takes part, or `_NOT_PLAIN` where it needs the host after all."""
    op = call.op
    if op.name == "getitem" and isinstance(args[0], (tuple, list)):
        return scalars.index(args[0], args[1])
    if all(type(arg) in scalars.PLAIN for arg in args):
        if call.arithmetic:
            return scalars.binary(op.name, *args) if len(args) == 2 else scalars.unary(op.name, *args)
        if op.elementwise and not any(hasattr(value, "dtype") for value in kwargs.values()):
            return scalars.elementwise(op, args, kwargs)
        if op.name in ("max", "min") and len(args) == 2 and not kwargs:
            return scalars.extreme(op.name, args)
    elif call.arithmetic and len(args) == 2 and not any(hasattr(arg, "dtype") for arg in args):
        return scalars.among_sequences(op.name, *args)
    return _NOT_PLAIN


def _attribute(value: Any, name: str) -> Any:
    if name == "len" and isinstance(value, (tuple, list)):
        return len(value)
    if not hasattr(value, "dtype"):
        hint = "it is several tensors; index it first" if isinstance(value, (tuple, list)) else ""
        raise ArgumentError(f"only a tensor has .{name}", hint=hint)
    shape = tuple(value.shape)
    if name == "shape":
        return shape
    if name == "ndim":
        return len(shape)
    if name == "numel":
        return math.prod(shape)
    if name == "dtype":
        return value.dtype
    if not shape:
        raise ArgumentError("a tensor without dimensions has no len")
    return shape[0]


def _word(name: str, values: Mapping[str, Any], host: Host) -> Any:
    word = names.constant(name)
    if word is None:
        raise InvalidCase(f"unknown name '{name}'", hint=did_you_mean(name, values))
    return word.value if isinstance(word, Literal) else host.dtype(word.name)


def _gradient(name: str, gradients: Mapping[str, Any] | None) -> Any:
    if gradients is None:
        raise InvalidCase(f"grad({name}) where no backward pass has run",
                          hint="it is for `formulas`, `wrong_formulas`, `let` and `checks`")  # fmt: skip
    if name not in gradients:
        raise InvalidCase(f"grad({name}) names no tensor of the case", hint=did_you_mean(name, gradients))
    if gradients[name] is None:
        raise ArgumentError(f"grad({name}) is asked for, but the backward pass leaves no gradient there")
    return gradients[name]


_NOT_PLAIN: Any = object()
_NO_TENSORS = frozenset({*scalars.PLAIN, str, list, tuple, type(None)})


# What an expression mentions ---------------------------------------------------------------------


def free_names(expr: Expr) -> dict[str, int]:
    """The names that it uses, in order, each with the column where it stands first. `grad(p)` does not use `p`."""
    found: dict[str, int] = {}
    for node in walk(expr):
        if isinstance(node, Name):
            found.setdefault(node.name, node.at)
    return found


def gradient_names(expr: Expr) -> dict[str, int]:
    """The names in its `grad(…)`s, in order, each with the column where it stands first."""
    found: dict[str, int] = {}
    for node in walk(expr):
        if isinstance(node, Gradient):
            found.setdefault(node.name, node.at)
    return found


def ops_in(expr: Expr) -> dict[str, int]:
    """The ops that it applies, in order, each with the column where it stands first."""
    found: dict[str, int] = {}
    for node in walk(expr):
        if isinstance(node, Call):
            found.setdefault(node.op, node.at)
    return found
