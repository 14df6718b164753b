"""Tensors made from sizes and numbers. Those that are made from random numbers are in `random`."""

from __future__ import annotations

from math import ceil, prod
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import complex_of, named
from gradcheck.autograd.modes import default_dtype
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.dims import integer
from gradcheck.errors import ArgumentError, ShapeMismatch

_MADE: dict[str, Any] = {"method": False, "rounds": True}


def sizes(size: Any) -> tuple[int, ...]:
    """A size, or several, as a shape; ShapeMismatch where one is negative."""
    found = tuple(integer(s, "a size") for s in (size if isinstance(size, (tuple, list)) else (size,)))
    if any(s < 0 for s in found):
        raise ShapeMismatch(f"a size cannot be negative: {list(found)}")
    return found


def count(size: Any, *_: Any) -> int:
    """How many elements a creator of this `size` makes."""
    return prod(sizes(size))


def _natural(*numbers: Any) -> np.dtype:
    """What torch makes of Python numbers: int64, the default dtype, or its complex sibling; bool of booleans."""
    kind = np.result_type(*(np.asarray(n) for n in numbers)).kind
    if kind in "biu":
        return np.dtype(bool if kind == "b" else np.int64)
    return default_dtype() if kind == "f" else complex_of(default_dtype())


@op(variadic="size", elements=count, samples=("zeros(2, 3)", "zeros([2, 0])", "zeros(3, dtype=torch.int64)"), **_MADE)
def zeros(size: Any, *, dtype: Any = None) -> Any:
    """Zeros, of this size."""
    return np.zeros(sizes(size), named(dtype, default_dtype()))


@op(variadic="size", elements=count, samples=("ones(2, 3)", "ones([])", "ones(3, dtype=torch.float32)"), **_MADE)
def ones(size: Any, *, dtype: Any = None) -> Any:
    """Ones, of this size."""
    return np.ones(sizes(size), named(dtype, default_dtype()))


@op(elements=count, samples=("full([2, 3], 1.5)", "full((2,), 7)", "full([], True)"), **_MADE)
def full(size: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    """One number all over."""
    return np.full(sizes(size), fill_value, named(dtype, _natural(fill_value)))


@op(
    elements=lambda n, m, dtype: count((n, n if m is None else m)),
    samples=("eye(3)", "eye(2, 3)", "eye(3, m=2, dtype=torch.int64)"),
    **_MADE,
)
def eye(n: int, m: int | None = None, *, dtype: Any = None) -> Any:
    """The identity matrix, or ones on the diagonal of an n by m matrix."""
    rows, columns = sizes((n, n if m is None else m))
    return np.eye(rows, columns, dtype=named(dtype, default_dtype()))


def _arange_length(start: float, end: float | None, step: float, *_: Any) -> int:
    low, high = (0, start) if end is None else (start, end)
    if step == 0:
        raise ArgumentError("arange: the step is 0")
    return max(0, ceil((high - low) / step))


@op(
    elements=_arange_length,
    samples=(
        "arange(5)",
        "arange(2, 8, 3)",
        "arange(0, 1, 0.25)",
        "arange(3, 0, -1)",
        "arange(1, 4, dtype=torch.float32)",
    ),
    **_MADE,
)
def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Any:
    """`start`, `start + step`, … below `end`; `arange(end)` starts at 0."""
    length = _arange_length(start, end, step)
    low = 0 if end is None else start
    kind = named(dtype, _natural(start, step, 0 if end is None else end))
    if (end is not None and (end - start) * step < 0) or (end is None and start * step < 0):
        raise ShapeMismatch("arange: the end lies on the other side of the start than the step leads")
    return (low + step * np.arange(length)).astype(kind)


@op(
    elements=lambda start, end, steps, dtype: count(steps),
    samples=("linspace(0, 1, 5)", "linspace(2, -2, steps=3, dtype=torch.float32)", "linspace(0, 1, 1)"),
    **_MADE,
)
def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None) -> Any:
    """`steps` numbers from `start` to `end`, both included, at equal distances."""
    return np.linspace(start, end, sizes(steps)[0]).astype(named(dtype, default_dtype()))


def _plain(data: Any) -> Any:
    """Nested lists, with arrays for tensors."""
    if isinstance(data, (list, tuple)):
        return [_plain(d) for d in data]
    return np.asarray(data) if hasattr(data, "dtype") else data


@op(samples=("tensor([[1, 2], [3, 4]])", "tensor([1.5, nan])", "tensor(3)", "tensor([], dtype=torch.int64)"), **_MADE)
def tensor(data: Any, *, dtype: Any = None) -> Any:
    """The tensor of these numbers, nested lists of them."""
    try:
        array = np.asarray(_plain(data))
    except ValueError as error:
        raise ShapeMismatch(f"tensor: the lists are ragged: {error}") from error
    if array.dtype.kind not in "biufcV":
        raise ArgumentError(f"tensor takes numbers, not {array.dtype}")
    return array.astype(named(dtype, array.dtype if hasattr(data, "dtype") else _natural(array)))


# Like another ---------------------------------------------------------------------------------------


@op(rounds=True, method=False, samples=("zeros_like(randn(2, 3))", "zeros_like(randn(3), dtype=torch.int64)"))
def zeros_like(input: Any, *, dtype: Any = None) -> Any:
    """Zeros, of the shape and dtype of `input`."""
    return np.zeros(input.shape, named(dtype, input.dtype))


@op(rounds=True, method=False, samples=("ones_like(randn(2, 3))", "ones_like(randint(0, 3, [2]))"))
def ones_like(input: Any, *, dtype: Any = None) -> Any:
    """Ones, of the shape and dtype of `input`."""
    return np.ones(input.shape, named(dtype, input.dtype))


@op(rounds=True, method=False, samples=("full_like(randn(2, 3), 1.5)", "full_like(randn(2), 2, dtype=torch.float32)"))
def full_like(input: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    """One number all over, of the shape and dtype of `input`."""
    return np.full(input.shape, fill_value, named(dtype, input.dtype))


@composite(variadic="size", torch="Tensor.new_zeros", elements=lambda input, size, dtype: count(size),
           samples=("randn(2).new_zeros(2, 3)", "new_zeros(randn(2), (3,))"))  # fmt: skip
def new_zeros(input: Any, size: Any, *, dtype: Any = None) -> Any:
    """Zeros of this size, of the dtype of `input`."""
    return zeros(size, dtype=named(dtype, input.dtype))


@composite(variadic="size", torch="Tensor.new_ones", elements=lambda input, size, dtype: count(size),
           samples=("randn(2).new_ones(2, 3)", "new_ones(randn(2), (3,))"))  # fmt: skip
def new_ones(input: Any, size: Any, *, dtype: Any = None) -> Any:
    """Ones of this size, of the dtype of `input`."""
    return ones(size, dtype=named(dtype, input.dtype))


@composite(torch="Tensor.new_full", elements=lambda input, size, fill_value, dtype: count(size),
           samples=("randn(2).new_full((2, 3), 1.5)",))  # fmt: skip
def new_full(input: Any, size: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    """One number all over, of this size and the dtype of `input`."""
    return full(size, fill_value, dtype=named(dtype, input.dtype))
