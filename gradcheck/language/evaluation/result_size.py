"""The size of an op's result, checked before it is computed.

So no case can exhaust the machine.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from gradcheck.autograd.op import Op
from gradcheck.errors import ArgumentError, TooLarge

MAX_ELEMENTS = 10**8
#: NumPy's limit for broadcasting.
MAX_DIMENSIONS = 32
#: Larger numbers are not written out; Python limits the digits.
_UNCOUNTED = 10**18
#: Ops whose result may exceed the square of their arguments' sizes.
_STEEP = frozenset({"combinations"})
#: Parameters that torch multiplies without a check for overflow: it would then read and write outside of its tensors,
#: or never return.
_GEOMETRY = frozenset(
    (
        *("dilation", "stride", "padding", "output_padding", "kernel_size", "pad", "n", "s", "shifts", "offset"),
        *("diagonal", "storage_offset", "output_size", "hop_length", "win_length", "n_fft"),
        *("upscale_factor", "downscale_factor"),
    )
)
#: More than any of them needs.
_VAST = 2**31
#: Ops whose written sizes are added to those of a tensor.
_PADDING = frozenset({"pad", "constant_pad_nd"})


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape of a tensor of any host, None for other values."""
    if not hasattr(value, "dtype"):  # NumPy's dtypes have a shape as well
        return None
    shape = getattr(value, "shape", None)
    return None if shape is None else tuple(shape)


def check(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], limit: int) -> None:
    """Raise TooLarge if the result would have more than `limit` elements."""
    bound = _size_bound((*args, *kwargs.values()) if kwargs else args, limit)
    if bound * bound <= limit and op.name not in _STEEP:  # no other op exceeds that
        return
    count = _declared_elements(op, args, kwargs, limit) if op.elements is not None else _estimated(op, args, kwargs)
    count = max(count, _written_extent(op, args, kwargs))
    if count > limit:
        raise too_large(op.name, count, limit)
    _refuse_vast_geometry(op, args, kwargs)


def _refuse_vast_geometry(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise ArgumentError for integers by which torch would overflow."""
    given = {**dict(zip((parameter.name for parameter in op.parameters), args, strict=False)), **kwargs}
    for name in _GEOMETRY & given.keys():
        value = given[name]
        parts = value if isinstance(value, (list, tuple)) else (value,)
        if any(_is_integer(part) and abs(int(part)) >= _VAST for part in parts):
            raise ArgumentError(f"{op.name} takes no {name} of 2^31 or more")


def _is_integer(value: Any) -> bool:
    """Return whether torch takes it as an integer, maybe of a tensor."""
    if isinstance(value, int):
        return True
    return shape_of(value) == () and hasattr(value, "__int__") and not _is_floating(value.dtype)


def _written_extent(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return the product of the written sizes, counting 0 as 1.

    NumPy limits it for a shape of no elements too, such as [2**62, 0]; torch does not.
    """
    places = _places(op, "size", "pad", op.variadic, *(("n", "m") if op.name == "eye" else ()))
    if not places:
        return 0
    try:
        bound = op.bind(args, kwargs)
    except ArgumentError:  # the op itself says so
        return 0
    written = [bound[place] if isinstance(bound[place], (list, tuple)) else (bound[place],) for place in places]
    sizes = [max(size, 1) for given in written for size in given if type(size) is int]
    return max(sizes, default=0) if op.name in _PADDING else math.prod(sizes)


def too_large(op: str, count: int, limit: int) -> TooLarge:
    """Return the error of an op that would make so many elements."""
    said = f"{count:,}" if count <= _UNCOUNTED else "more than 10^18"
    error = TooLarge(f"{op} would make a tensor of {said} elements, where {limit:,} are allowed")
    error.op, error.elements = op, count
    return error


def _size_bound(args: tuple[Any, ...] | list[Any], limit: int) -> int:
    """Return the product of all sizes and integers among the arguments.

    Returns `limit + 1` if it is larger, or if an argument tells too little: a float, as in `arange(0, 1, 1e-12)`, or
    integers inside a tensor, as for `one_hot`.
    """
    found = 1
    for arg in args:
        kind = type(arg)
        if kind is int:
            found *= abs(arg) + 1
        elif kind is tuple or kind is list:
            found *= _size_bound(arg, limit)
        elif (shape := shape_of(arg)) is not None:
            for size in shape:
                found *= size + 1
            if not _is_floating(arg.dtype):
                return limit + 1
        elif isinstance(arg, int):
            found *= abs(arg) + 1
        elif kind not in _IMMATERIAL:
            return limit + 1
        if found > limit:
            return limit + 1
    return found


_IMMATERIAL = frozenset({bool, str, slice, type(None), type(...)})


def _is_floating(dtype: Any) -> bool:
    kind = getattr(dtype, "kind", None)
    return bool(dtype.is_floating_point) if kind is None else kind in "fV"


def _declared_elements(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], limit: int) -> int:
    bound = op.bind(args, kwargs)
    for place in _places(op, "size", op.variadic):
        if isinstance(bound[place], (list, tuple)):
            _check_sizes(op, bound[place])
    try:
        return int(op.elements(*bound)) if op.elements is not None else 0
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RuntimeError):
        if any(type(value) is int and abs(value) > limit for value in bound):
            raise ArgumentError(f"{op.name} takes no such arguments", hint=f"its signature is {op.signature}") from None
        return 0  # arguments that make no sense, but do no harm: the op itself says so, in its own words


@cache
def _places(op: Op, *names: str | None) -> tuple[int, ...]:
    """Return the places of the parameters with these names."""
    return tuple(i for i, parameter in enumerate(op.parameters) if parameter.name in names)


def _check_sizes(op: Op, sizes: list[Any] | tuple[Any, ...]) -> None:
    """Raise for texts and lists, which Python multiplies too, and many sizes."""
    if len(sizes) > MAX_DIMENSIONS and all(isinstance(size, int) for size in sizes):
        raise TooLarge(f"{op.name} would make a tensor of more than {MAX_DIMENSIONS} dimensions")
    wrong = next((size for size in sizes if isinstance(size, (str, list, tuple))), None)
    if wrong is not None:
        raise ArgumentError(
            f"{op.name} takes integers as sizes, not {wrong!r:.60}", hint=f"its signature is {op.signature}"
        )


def _estimated(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return the elements of the shapes broadcast, or joined if listed.

    A dimension without elements counts as 1: `sum(x, 0)` of shape [0, n] has n elements.
    """
    shapes: list[tuple[int, ...]] = []
    for arg in (*args, *kwargs.values()):
        parts = arg if isinstance(arg, (list, tuple)) else (arg,)
        known = [shape for shape in map(shape_of, parts) if shape is not None]
        joined = known if parts is not arg else [(sum(map(math.prod, known)),)]
        shapes += joined if known else []
    if not op.elementwise:
        shapes = [tuple(size or 1 for size in shape) for shape in shapes]
    if not shapes or shapes.count(shapes[0]) == len(shapes):
        return math.prod(shapes[0]) if shapes else 0
    return _broadcast(shapes)


def _broadcast(shapes: list[tuple[int, ...]]) -> int:
    """Return the number of elements of broadcast shapes, 0 on mismatch."""
    longest = max(map(len, shapes))
    count = 1
    for sizes in zip(*[(1,) * (longest - len(shape)) + shape for shape in shapes], strict=True):
        known = {size for size in sizes if size != 1}
        if len(known) > 1:
            return 0
        count *= known.pop() if known else 1
    return count
