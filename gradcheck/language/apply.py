"""One op of an expression applied to its arguments: tensors go to the host, plain values stay plain."""

from __future__ import annotations

from typing import Any

from gradcheck.errors import ArgumentError
from gradcheck.language import budget, scalars
from gradcheck.language.host import Host
from gradcheck.language.program import Application
from gradcheck.language.scalars import PLAIN

_NOT_PLAIN: Any = object()
_NO_TENSORS = frozenset({*PLAIN, str, list, tuple, type(None)})


def operate(call: Application, a: Any, b: Any, host: Host, limit: int) -> Any:
    """What an operator makes of two operands."""
    if type(b) in PLAIN:
        if type(a) in PLAIN:
            return scalars.binary(call.op.name, a, b)
        direct = hasattr(a, "dtype")
    elif type(a) in PLAIN:
        direct = hasattr(b, "dtype")
    else:
        direct = hasattr(a, "dtype") and hasattr(b, "dtype") and a.shape == b.shape
    return host.call(call.op, (a, b), {}) if direct else apply(call, [a, b], host, limit)


def apply(call: Application, given: list[Any], host: Host, limit: int) -> Any:
    """The result of an op; `given` are its positional arguments and then its keyword arguments."""
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
    if all(type(arg) in PLAIN for arg in args):
        if call.operator:
            return scalars.binary(op.name, *args) if len(args) == 2 else scalars.unary(op.name, *args)
        if op.elementwise and not any(hasattr(value, "dtype") for value in kwargs.values()):
            return scalars.elementwise(op, args, kwargs)
        if op.name in ("max", "min") and len(args) == 2 and not kwargs:
            return scalars.extreme(op.name, args)
    elif call.operator and len(args) == 2 and not any(hasattr(arg, "dtype") for arg in args):
        return scalars.among_sequences(op.name, *args)
    return _NOT_PLAIN
