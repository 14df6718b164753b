"""Who applies the ops of an expression, and how: tensors go to the host, plain values stay plain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op, lookup
from gradcheck.errors import ArgumentError, GradcheckError, InvalidCase, ShapeMismatch
from gradcheck.language.evaluation import budget, scalars
from gradcheck.language.evaluation.budget import shape_of
from gradcheck.language.evaluation.scalars import ARITHMETIC, PLAIN


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


_OPERATORS = frozenset({*ARITHMETIC, "neg", "bitwise_not"})
_NOT_PLAIN: Any = object()
_CONFUSED = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RuntimeError)
_NO_OPERANDS = frozenset({str, list, tuple})
_NO_TENSORS = frozenset({*PLAIN, str, list, tuple, type(None)})


#: Operands that torch takes as tensors alone: an op's first where it is called so, but of these ops.
_TENSORS = frozenset({"input", "x1", "anchor"})
_NUMBER_FIRST = frozenset({"xlogy", "special.xlog1py", "special.zeta", "float_power", "clone", "positive"})
#: Ops whose second operand, `other`, is a tensor too; and what parameters of other names take.
_OF_TENSORS = frozenset(
    [
        "maximum",
        "minimum",
        "fmax",
        "fmin",
        "atan2",
        "hypot",
        "logaddexp",
        "logaddexp2",
        "logical_and",
        "logical_or",
        "logical_xor",
        "dist",
    ]
)
_TAKEN = {
    **dict.fromkeys(("target", "x2", "tensor1", "tensor2", "positive", "negative"), "tensor"),
    **dict.fromkeys(("alpha", "lambd", "negative_slope", "beta", "threshold", "fill_value", "eps"), "number"),
    "tensors": "list",
}
#: Which side of `clamp` a number beside a tensor stands for.
_BOUNDS = {**dict.fromkeys(("max", "maximum", "fmax"), "min"), **dict.fromkeys(("min", "minimum", "fmin"), "max")}


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
    tensor_first: bool  # its first argument is a tensor, where any is one
    kinds: tuple[tuple[int, str], ...]  # what else torch takes as a tensor, a number or a list alone, and where

    @classmethod
    def of(cls, name: str, positional: int, keys: tuple[str, ...]) -> Application:
        """What is known of a call of the op of this name. Raises InvalidCase where there is none."""
        op = lookup(name)
        if op is None:
            raise InvalidCase(f"there is no op '{name}'")
        operator = name in _OPERATORS and not keys
        first = op.parameters[0].name if op.parameters else ""
        of_tensors = op.method or op.composite or any(op.rules)
        return cls(
            op,
            positional,
            keys,
            operator=operator,
            infix=operator and positional == 2,
            measured=op.elements is not None or positional + len(keys) > 1 or not op.elementwise,
            needs_tensor=of_tensors or (bool(op.parameters) and op.parameters[0].name == "input"),
            repeats=op.composite and not any(parameter.name in ("size", op.variadic) for parameter in op.parameters),
            tensor_first=name not in _NUMBER_FIRST and name not in ARITHMETIC and first in _TENSORS,
            kinds=() if operator else tuple(_kinds(op)),
        )


def operate(call: Application, a: Any, b: Any, host: Host, limit: int) -> Any:
    """What an operator makes of two operands."""
    if type(b) in PLAIN:
        if type(a) in PLAIN:
            return scalars.binary(call.op.name, a, b)
        direct = hasattr(a, "dtype")
    elif type(a) in PLAIN:
        direct = hasattr(b, "dtype")
    else:
        direct = hasattr(a, "dtype") and hasattr(b, "dtype") and shape_of(a) == shape_of(b)
    return _hand(host, call.op, (a, b), {}) if direct else apply(call, [a, b], host, limit)


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
        if op.elementwise:
            _check_operands(op, args)
        elif call.repeats:
            _check_repetition(op, (*args, *kwargs.values()), limit)
        if call.kinds:
            _check_kinds(call, args)
        budget.check(op, args, kwargs, limit)
    return _hand(host, op, args, kwargs)


def _check_operands(op: Op, args: tuple[Any, ...]) -> None:
    for arg in args[: len(op.rules)]:
        if type(arg) in _NO_OPERANDS:
            message = f"{op.name} takes tensors and numbers, not {scalars.kind(arg)}"
            raise ArgumentError(message, hint=scalars.tensor_hint(arg))


def _kinds(op: Op) -> Iterator[tuple[int, str]]:
    """The places of parameters that take a tensor, a number or a list alone."""
    for place, parameter in enumerate(op.parameters):
        if parameter.name in _TAKEN and place != op.sequence:
            yield place, _TAKEN[parameter.name]
        elif parameter.name == "other" and op.name in _OF_TENSORS:
            yield place, "tensor"


def _check_kinds(call: Application, args: tuple[Any, ...]) -> None:
    """Refuse what torch refuses: a number for a tensor, a tensor for a number, a tensor for a list of them."""
    op = call.op
    for place, wanted in call.kinds:
        arg = args[place] if place < len(args) else None
        if wanted == "tensor" and type(arg) in PLAIN:
            raise _no_tensor(op, args, place)
        if wanted == "number" and shape_of(arg):
            message = f"{op.name} takes a number as {op.parameters[place].name}, not a tensor"
            raise ArgumentError(message, hint=f"its signature is {op.signature}")
        if wanted == "list" and shape_of(arg) is not None:
            raise ArgumentError(f"{op.name} takes a list of tensors", hint=f"write {op.name}([x, y])")


def _no_tensor(op: Op, args: tuple[Any, ...], place: int) -> ArgumentError:
    """A number where torch takes a tensor alone, as in `max(0, x)`."""
    number = args[place]
    message = f"{op.name} takes a tensor as its {ordinal(place)} argument, not {scalars.kind(number)}"
    return ArgumentError(message, hint=instead_of_number(op.name, number, "x"))


def ordinal(place: int) -> str:
    """`first` for 0."""
    return ("first", "second", "third", "fourth")[min(place, 3)]


def instead_of_number(name: str, number: Any, tensor: str) -> str:
    """What to write for an op between a number and a tensor, of which torch takes tensors alone."""
    bound = _BOUNDS.get(name)
    if bound is None:
        return f"write full_like({tensor}, {number!r}) for {number!r}"
    clamped = f"clamp({tensor}, {bound}={number!r})"
    return f"write relu({tensor}) or {clamped}" if bound == "min" and number == 0 else f"write {clamped}"


def _check_repetition(op: Op, args: tuple[Any, ...], limit: int) -> None:
    """What is written in Python's operators would repeat a list or a text: `addcmul(x, [y], 10 ** 18)`."""
    kinds = set(map(type, args))
    if kinds & _NO_OPERANDS and any(type(arg) is int and abs(arg) > limit for arg in args):
        raise ArgumentError(f"{op.name} takes no integer beyond {limit:,} beside a list or a text")


def _hand(host: Host, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return host.call(op, args, kwargs)
    except GradcheckError:
        raise
    except ValueError as error:  # of an op that is composed of NumPy's own
        if "core dimension" in str(error) or "broadcast" in str(error):
            raise ShapeMismatch(op.mismatch(args, error)) from error
        raise ArgumentError(f"{op.name}: {error}", hint=f"its signature is {op.signature}") from error
    except _CONFUSED as error:  # what ops trip over when arguments make no sense, such as `2` for a tensor
        raise ArgumentError(_confusion(op, (*args, *kwargs.values()), error), hint=_hint(op, args)) from error


def _confusion(op: Op, args: tuple[Any, ...], error: Exception) -> str:
    """What an op has tripped over: mostly what is no tensor in a tensor's place."""
    if isinstance(error, AttributeError):
        wrong = next((arg for arg in args if f"'{type(arg).__name__}' object" in str(error)), _NOT_PLAIN)
        if wrong is not _NOT_PLAIN:
            what = "several tensors" if _holds_tensor(wrong) else scalars.kind(wrong)
            return f"{op.name} takes a tensor where it is given {what}"
    return f"{op.name}: {error}"


def _hint(op: Op, args: tuple[Any, ...]) -> str:
    if any(isinstance(arg, tuple) and _holds_tensor(arg) for arg in args):
        return "index it first, as in m[0]"
    return f"its signature is {op.signature}"


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
    if call.tensor_first and type(args[0]) in PLAIN and any(hasattr(arg, "dtype") for arg in args):
        raise _no_tensor(op, args, 0)
    if call.needs_tensor and not any(map(_holds_tensor, (*args, *kwargs.values()))):
        raise ArgumentError(f"{op.name} takes a tensor, not {scalars.kind(args[0])}", hint=scalars.tensor_hint(*args))
    return _NOT_PLAIN


def _holds_tensor(value: Any) -> bool:
    return any(map(_holds_tensor, value)) if isinstance(value, (list, tuple)) else hasattr(value, "dtype")
