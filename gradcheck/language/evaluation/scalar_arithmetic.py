"""Arithmetic on sizes, shapes and other plain values, within bounds.

A size stays an integer (`n // 2`), results beyond 64 bits raise before they are computed, and a list is no tensor.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.errors import ArgumentError, DomainError, DtypeMismatch, IndexOutOfRange, TooLarge

#: Exact types, since NumPy's scalars are arrays without dimensions.
PLAIN_TYPES = frozenset({int, float, bool, complex})

_BITS = 64
_LONGEST = 64  # entries of a shape
_FARTHEST = 2**62  # bound of a slice: beyond every tensor, but within torch's integers

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}
_KINDS: dict[type, str] = {
    int: "an integer",
    float: "a float",
    bool: "a boolean",
    complex: "a complex number",
    str: "a text",
    list: "a list",
    tuple: "a tuple",
    type(None): "None",
}
_EQUALITY = frozenset({"eq", "ne"})


def binary(name: str, a: Any, b: Any) -> Any:
    """Return `a + b` and its like."""
    if name == "pow" and type(a) is int and type(b) is int and b > 0 and (abs(a).bit_length() - 1) * b >= _BITS:
        raise TooLarge(f"{a} ** {b} does not fit in {_BITS} bits", hint="write the base as a float")
    try:
        return _bounded(ARITHMETIC[name](a, b), name)
    except ZeroDivisionError:
        raise DomainError(f"a division by zero: {name}({a}, {b})") from None
    except OverflowError:
        raise TooLarge(f"{name}({a}, {b}) is beyond the largest number") from None
    except TypeError:
        raise DtypeMismatch(f"{name} is not defined between {describe_kind(a)} and {describe_kind(b)}") from None


def unary(name: str, a: Any) -> Any:
    """Return `-a` or `~a`."""
    if name == "neg":
        return -a
    if type(a) is bool:
        return not a
    if type(a) is int:
        return ~a
    raise DtypeMismatch(f"{name} takes integers and booleans, not {describe_kind(a)}")


def sequence_operator(name: str, a: Any, b: Any) -> Any:
    """Return `x.shape == y.shape`, `x.shape[:-1] + (1,)` and their like."""
    if name in _EQUALITY:
        a, b = (tuple(v) if isinstance(v, list) else v for v in (a, b))
        try:
            return bool(ARITHMETIC[name](a, b))
        except (ValueError, RuntimeError):  # the truth of a tensor of many elements
            raise DtypeMismatch(f"{name} of lists that hold tensors", hint="compare their parts one by one") from None
    if name == "add" and all(_is_shape(v) for v in (a, b)) and len(a) + len(b) <= _LONGEST:
        return tuple(a) + tuple(b)
    raise DtypeMismatch(
        f"{name} is not defined between {describe_kind(a)} and {describe_kind(b)}", hint=tensor_hint(a, b)
    )


def elementwise(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return an elementwise op such as `sqrt(2)` in double precision."""
    raised = [_as_array(arg, op.floating) if i < len(op.rules) else arg for i, arg in enumerate(args)]
    result = op(*raised, **kwargs)
    if result.size != 1:
        raise ArgumentError(
            f"{op.name} of numbers makes {result.size} of them", hint=f"its signature is {op.signature}"
        )
    return _bounded(result.item(), op.name)


def min_or_max(name: str, args: tuple[Any, ...]) -> Any:
    """Return `max(n, m)` or `min(n, m)` of sizes."""
    if complex in map(type, args):
        raise DtypeMismatch(f"{name} is not defined between complex numbers")
    return max(args) if name == "max" else min(args)


def index(sequence: Any, key: Any) -> Any:
    """Return an item of a shape, or of an op's results."""
    if not isinstance(key, (int, slice)) or type(key) is bool:
        raise DtypeMismatch(
            f"{len(sequence)} values in a row are indexed by one integer or slice, not {describe_kind(key)}"
        )
    try:
        return sequence[key]
    except IndexError:
        raise IndexOutOfRange(f"index {key} into {len(sequence)} values") from None
    except ValueError as error:
        raise ArgumentError(f"a slice: {error}") from None


def slice_bound(value: Any) -> int | None:
    """Return a slice's start, stop or step as an integer."""
    if value is None or (type(value) is int and abs(value) < _FARTHEST):
        return value
    try:
        return max(-_FARTHEST, min(operator.index(value), _FARTHEST))
    except TypeError:
        raise DtypeMismatch(f"a slice takes integers, not {describe_kind(value)}") from None


def _as_array(value: Any, floating: bool) -> Any:
    if type(value) is complex:
        return np.array(value)
    return np.array(value, np.float64 if floating or type(value) is float else None)


def _bounded(value: Any, name: str) -> Any:
    if type(value) is int and value.bit_length() > _BITS:
        raise TooLarge(f"{name} of these integers does not fit in {_BITS} bits", hint="write one of them as a float")
    return value


def _is_shape(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(type(size) is int for size in value)


def describe_kind(value: Any) -> str:
    """Return the kind of a value in words."""
    name = type(value).__name__
    return _KINDS.get(type(value), "a dtype" if name.lower().endswith("dtype") else f"a {name}")


def tensor_hint(*values: Any) -> str:
    """Return a hint for a list or tuple in place of a tensor, or ""."""
    if any(isinstance(v, tuple) and any(hasattr(part, "shape") for part in v) for v in values):
        return "a result of several tensors: index it first, as in m[0]"
    return "a list becomes a tensor by tensor([1, 2])" if any(isinstance(v, list) for v in values) else ""
