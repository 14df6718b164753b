"""Application of ops: tensors go to the host, plain values stay plain."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from gradcheck.autograd import dtypes
from gradcheck.autograd.numpy_errors import missing_feature
from gradcheck.autograd.op import Op, lookup
from gradcheck.errors import ArgumentError, GradcheckError, InvalidCase, ShapeMismatch
from gradcheck.language.evaluation import result_size, scalar_arithmetic
from gradcheck.language.evaluation.argument_kinds import CallArgument, check_kinds, holds_tensor, kinds_of
from gradcheck.language.evaluation.result_size import shape_of
from gradcheck.language.evaluation.scalar_arithmetic import ARITHMETIC, PLAIN_TYPES


class Host(Protocol):
    """An object that applies ops, to arrays or to its own tensors."""

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the op's result, several outputs as a tuple."""
        ...

    def dtype(self, name: str) -> Any:
        """Return the host's dtype of that torch name."""
        ...


class NumPy:
    """Ops on NumPy arrays, or on gradcheck's tensors, which record themselves."""

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return op(*args, **kwargs)

    def dtype(self, name: str) -> Any:
        return dtypes.BY_NAME[name]


NUMPY = NumPy()


_OPERATORS = frozenset({*ARITHMETIC, "neg", "bitwise_not"})
_NOT_PLAIN: Any = object()
#: The exceptions of ops on senseless arguments.
OP_ERRORS = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RuntimeError)
_NO_TENSORS = frozenset({*PLAIN_TYPES, str, list, tuple, type(None)})


class OpCall(NamedTuple):
    """An op, and the facts about a call of it that no value changes."""

    op: Op
    positional_count: int
    keys: tuple[str, ...]
    is_operator: bool  # written as an operator, which plain values have too
    is_infix: bool  # an operator between two operands
    needs_size_check: bool  # the result may be larger than the arguments, or dtypes matter
    needs_tensor: bool  # unlike `zeros`, it needs a tensor
    kinds: tuple[CallArgument, ...]  # arguments of one kind alone

    @classmethod
    def of(cls, name: str, positional: int, keys: tuple[str, ...]) -> OpCall:
        """Return the facts about a call of an op; raise InvalidCase if unknown."""
        op = lookup(name)
        if op is None:
            raise InvalidCase(f"there is no op '{name}'")
        operator = name in _OPERATORS and not keys
        of_tensors = op.method or op.composite or any(op.rules)
        kinds = kinds_of(op, positional, keys)
        may_grow = op.elements is not None or positional + len(keys) > 1 or not op.elementwise
        return cls(
            op,
            positional,
            keys,
            is_operator=operator,
            is_infix=operator and positional == 2,
            needs_size_check=may_grow or any(one.dtypes for one in kinds),
            needs_tensor=of_tensors or (bool(op.parameters) and op.parameters[0].name == "input"),
            kinds=kinds,
        )


def apply_operator(call: OpCall, a: Any, b: Any, host: Host, limit: int | None) -> Any:
    """Return the result of an operator on two operands."""
    if type(a) in PLAIN_TYPES and type(b) in PLAIN_TYPES:
        return scalar_arithmetic.binary(call.op.name, a, b)
    with_tensor = hasattr(a, "dtype") or hasattr(b, "dtype")
    is_known = with_tensor and (limit is None or _is_result_size_known(a, b))
    return _call_host(host, call.op, (a, b), {}) if is_known else apply(call, [a, b], host, limit)


def _is_result_size_known(a: Any, b: Any) -> bool:
    """Return whether the result is surely as large as an operand."""
    if type(b) in PLAIN_TYPES:
        return hasattr(a, "dtype")
    if type(a) in PLAIN_TYPES:
        return hasattr(b, "dtype")
    return hasattr(a, "dtype") and hasattr(b, "dtype") and shape_of(a) == shape_of(b)


def apply(call: OpCall, given: list[Any], host: Host, limit: int | None) -> Any:
    """Return the result of an op; `limit=None` skips checks already made."""
    op = call.op
    args, kwargs = _split_arguments(call, given)
    of_tensor = not args or (type(args[0]) not in _NO_TENSORS and hasattr(args[0], "dtype"))
    if not of_tensor:
        value = _apply_plain(call, args, kwargs)
        if value is not _NOT_PLAIN:
            return value
    if limit is not None and (call.needs_size_check or not of_tensor):
        _check(call, given, args, kwargs, limit)
    return _call_host(host, op, args, kwargs)


def check(call: OpCall, given: list[Any], limit: int) -> None:
    """Check the arguments of an op on tensors as `apply` does."""
    if call.needs_size_check and not (call.is_infix and _is_result_size_known(*given)):
        _check(call, given, *_split_arguments(call, given), limit)


def _check(call: OpCall, given: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any], limit: int) -> None:
    check_kinds(call.op, call.kinds, given)
    if call.needs_size_check:
        result_size.check(call.op, args, kwargs, limit)


def _split_arguments(call: OpCall, given: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not call.keys:
        return tuple(given), {}
    return tuple(given[: call.positional_count]), dict(zip(call.keys, given[call.positional_count :], strict=True))


def _call_host(host: Host, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return host.call(op, args, kwargs)
    except GradcheckError:
        raise
    except ValueError as error:  # of a composed NumPy op
        if "core dimension" in str(error) or "broadcast" in str(error):
            raise ShapeMismatch(op.mismatch(args, error)) from error
        raise ArgumentError(f"{op.name}: {error}", hint=f"its signature is {op.signature}") from error
    except OP_ERRORS as error:  # from senseless arguments, such as `2` for a tensor
        told = ArgumentError(_op_error_message(op, (*args, *kwargs.values()), error), hint=_hint(op, args))
        raise missing_feature(op.name, error) or told from error


def _op_error_message(op: Op, args: tuple[Any, ...], error: Exception) -> str:
    if isinstance(error, AttributeError):
        wrong = next((arg for arg in args if f"'{type(arg).__name__}' object" in str(error)), _NOT_PLAIN)
        if wrong is not _NOT_PLAIN:
            what = "several tensors" if holds_tensor(wrong) else scalar_arithmetic.describe_kind(wrong)
            return f"{op.name} takes a tensor where it is given {what}"
    return f"{op.name}: {error}"


def _hint(op: Op, args: tuple[Any, ...]) -> str:
    if any(isinstance(arg, tuple) and holds_tensor(arg) for arg in args):
        return "index it first, as in m[0]"
    return f"its signature is {op.signature}"


def _apply_plain(call: OpCall, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result without a tensor, or `_NOT_PLAIN` if a host is needed."""
    op = call.op
    if op.name == "getitem" and isinstance(args[0], (tuple, list)):
        return scalar_arithmetic.index(args[0], args[1])
    if all(type(arg) in PLAIN_TYPES for arg in args):
        if call.is_operator:
            return (
                scalar_arithmetic.binary(op.name, *args) if len(args) == 2 else scalar_arithmetic.unary(op.name, *args)
            )
        if op.elementwise and not any(hasattr(value, "dtype") for value in kwargs.values()):
            return scalar_arithmetic.elementwise(op, args, kwargs)
        if op.name in ("max", "min") and len(args) == 2 and not kwargs:
            return scalar_arithmetic.min_or_max(op.name, args)
    elif call.is_operator and len(args) == 2 and not any(hasattr(arg, "dtype") for arg in args):
        return scalar_arithmetic.sequence_operator(op.name, *args)
    if call.needs_tensor and not any(map(holds_tensor, (*args, *kwargs.values()))):
        raise ArgumentError(
            f"{op.name} takes a tensor, not {scalar_arithmetic.describe_kind(args[0])}",
            hint=scalar_arithmetic.tensor_hint(*args),
        )
    return _NOT_PLAIN
