"""Creation of tensors from sizes, numbers, other tensors, or at random.

Random numbers come from the `numpy.random.Generator` that the caller passes as `generator`. They are for inputs and
constants; in a graph, engines could not agree on them.
"""

from __future__ import annotations

from math import ceil, prod
from typing import Any

import numpy as np

from gradcheck.autograd.dtype_sets import NUMBERS, REAL_NUMBERS
from gradcheck.autograd.dtypes import complex_of, named
from gradcheck.autograd.modes import default_dtype
from gradcheck.autograd.op import composite, op
from gradcheck.autograd.ops.common.dims import as_shape
from gradcheck.errors import ArgumentError, ShapeMismatch

#: Creators are no methods.
_MADE: dict[str, Any] = {"method": False, "rounds": True}


def _elements(size: Any, *_: Any) -> int:
    """Return the number of elements of this `size`."""
    return prod(as_shape(size))


def _default_dtype_of(*numbers: Any) -> np.dtype:
    """Return the dtype that torch gives Python numbers."""
    kind = np.result_type(*(np.asarray(n) for n in numbers)).kind
    if kind in "biu":
        return np.dtype(bool if kind == "b" else np.int64)
    return default_dtype() if kind == "f" else complex_of(default_dtype())


@op(variadic="size", elements=_elements, samples="zeros(2, 3); zeros([2, 0]); zeros(3, dtype=torch.int64)", **_MADE)
def zeros(size: Any, *, dtype: Any = None) -> Any:
    """Zeros, of this size."""
    return np.zeros(as_shape(size), named(dtype, default_dtype()))


@op(variadic="size", elements=_elements, samples="ones(2, 3); ones([]); ones(3, dtype=torch.float32)", **_MADE)
def ones(size: Any, *, dtype: Any = None) -> Any:
    """Ones, of this size."""
    return np.ones(as_shape(size), named(dtype, default_dtype()))


@op(elements=_elements, samples="full([2, 3], 1.5); full((2,), 7); full([], True)", **_MADE)
def full(size: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    """One number all over."""
    return np.full(as_shape(size), fill_value, named(dtype, _default_dtype_of(fill_value)))


@op(
    elements=lambda n, m, dtype: _elements((n, n if m is None else m)),
    latex="I_{#}",
    samples="eye(3); eye(2, 3); eye(3, m=2, dtype=torch.int64)",
    **_MADE,
)
def eye(n: int, m: int | None = None, *, dtype: Any = None) -> Any:
    """The identity matrix, or ones on the diagonal of an n by m matrix."""
    rows, columns = as_shape((n, n if m is None else m))
    return np.eye(rows, columns, dtype=named(dtype, default_dtype()))


def _arange_length(start: float, end: float | None, step: float, *_: Any) -> int:
    low, high = (0, start) if end is None else (start, end)
    if step == 0:
        raise ArgumentError("arange: the step is 0")
    return max(0, ceil((high - low) / step))


@op(
    elements=_arange_length,
    dtypes={"dtype": REAL_NUMBERS},
    samples="arange(5); arange(2, 8, 3); arange(0, 1, 0.25); arange(3, 0, -1); arange(1, 4, dtype=torch.float32)",
    **_MADE,
)
def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Any:
    """`start`, `start + step`, … below `end`; `arange(end)` starts at 0."""
    length = _arange_length(start, end, step)
    low = 0 if end is None else start
    kind = named(dtype, _default_dtype_of(start, step, 0 if end is None else end))
    if (end is not None and (end - start) * step < 0) or (end is None and start * step < 0):
        raise ShapeMismatch("arange: the end lies on the other side of the start than the step leads")
    return (low + step * np.arange(length)).astype(kind)


@op(
    elements=lambda start, end, steps, dtype: _elements(steps),
    dtypes={"dtype": NUMBERS},
    samples="linspace(0, 1, 5); linspace(2, -2, steps=3, dtype=torch.float32); linspace(0, 1, 1)",
    **_MADE,
)
def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None) -> Any:
    """`steps` equally spaced numbers from `start` to `end`, inclusive."""
    return np.linspace(start, end, as_shape(steps)[0]).astype(named(dtype, default_dtype()))


def _tensors_to_arrays(data: Any) -> Any:
    """Return nested lists with arrays for tensors."""
    if isinstance(data, (list, tuple)):
        return [_tensors_to_arrays(d) for d in data]
    return np.asarray(data) if hasattr(data, "dtype") else data


@op(samples="tensor([[1, 2], [3, 4]]); tensor([1.5, nan]); tensor(3); tensor([], dtype=torch.int64)", **_MADE)
def tensor(data: Any, *, dtype: Any = None) -> Any:
    """The tensor of these numbers, nested lists of them."""
    try:
        array = np.asarray(_tensors_to_arrays(data))
    except ValueError as error:
        raise ShapeMismatch(f"tensor: the lists are ragged: {error}") from error
    if array.dtype.kind not in "biufcV":
        raise ArgumentError(f"tensor takes numbers, not {array.dtype}")
    return array.astype(named(dtype, array.dtype if hasattr(data, "dtype") else _default_dtype_of(array)))


# Like another --------------------------------------------------------------------------------------


@op(latex=r"\mathbf{0}_{#}", samples="zeros_like(randn(2, 3)); zeros_like(randn(3), dtype=torch.int64)", **_MADE)
def zeros_like(input: Any, *, dtype: Any = None) -> Any:
    """Zeros, of the shape and dtype of `input`."""
    return np.zeros(input.shape, named(dtype, input.dtype))


@op(latex=r"\mathbf{1}_{#}", samples="ones_like(randn(2, 3)); ones_like(randint(0, 3, [2]))", **_MADE)
def ones_like(input: Any, *, dtype: Any = None) -> Any:
    """Ones, of the shape and dtype of `input`."""
    return np.ones(input.shape, named(dtype, input.dtype))


@op(samples="full_like(randn(2, 3), 1.5); full_like(randn(2), 2, dtype=torch.float32)", **_MADE)
def full_like(input: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    """One number all over, of the shape and dtype of `input`."""
    return np.full(input.shape, fill_value, named(dtype, input.dtype))


def _new_elements(input: Any, size: Any, *_: Any) -> int:
    return _elements(size)


@composite(
    variadic="size",
    torch="Tensor.new_zeros",
    elements=_new_elements,
    samples="randn(2).new_zeros(2, 3); new_zeros(randn(2), (3,))",
)
def new_zeros(input: Any, size: Any, *, dtype: Any = None) -> Any:
    """Zeros of this size, of the dtype of `input`."""
    return zeros(size, dtype=named(dtype, input.dtype))


@composite(
    variadic="size",
    torch="Tensor.new_ones",
    elements=_new_elements,
    samples="randn(2).new_ones(2, 3); new_ones(randn(2), (3,))",
)
def new_ones(input: Any, size: Any, *, dtype: Any = None) -> Any:
    """Ones of this size, of the dtype of `input`."""
    return ones(size, dtype=named(dtype, input.dtype))


@composite(torch="Tensor.new_full", elements=_new_elements, samples="randn(2).new_full((2, 3), 1.5)")
def new_full(input: Any, size: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    """One number all over, of this size and the dtype of `input`."""
    return full(size, fill_value, dtype=named(dtype, input.dtype))


# Random numbers ------------------------------------------------------------------------------------


def _require_generator(name: str, generator: Any) -> np.random.Generator:
    if not isinstance(generator, np.random.Generator):
        raise ArgumentError(f"{name} draws random values", hint="draw them under inputs or constants, and use the name")
    return generator


def _normal(stream: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Draw standard normal numbers; complex ones have variance 1."""
    if dtype.kind != "c":
        return stream.standard_normal(shape).astype(dtype)
    return ((stream.standard_normal(shape) + 1j * stream.standard_normal(shape)) * np.sqrt(0.5)).astype(dtype)


def _uniform(stream: np.random.Generator, low: Any, high: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    if dtype.kind != "c":
        return stream.uniform(low, high, shape).astype(dtype)
    return (stream.uniform(low, high, shape) + 1j * stream.uniform(low, high, shape)).astype(dtype)


def _integers(stream: np.random.Generator, low: Any, high: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    if low >= high:
        raise ArgumentError(f"randint draws from {low} up to but not including {high}, which leaves nothing")
    return stream.integers(low, high, shape).astype(dtype)


@op(variadic="size", elements=_elements, samples="randn(2, 3); randn([]); randn(2, dtype=torch.float32)", **_MADE)
def randn(size: Any, *, dtype: Any = None, generator: Any = None) -> Any:
    """Numbers from the standard normal distribution."""
    return _normal(_require_generator("randn", generator), as_shape(size), named(dtype, default_dtype()))


@op(variadic="size", elements=_elements, samples="rand(2, 3); rand([0])", **_MADE)
def rand(size: Any, *, dtype: Any = None, generator: Any = None) -> Any:
    """Numbers from the uniform distribution on [0, 1)."""
    return _uniform(_require_generator("rand", generator), 0, 1, as_shape(size), named(dtype, default_dtype()))


@op(
    torch="",
    elements=lambda low, high, size, dtype, generator: _elements(size),
    samples="uniform(0.1, 2, [2, 3]); uniform(-1, 1)",
    **_MADE,
)
def uniform(low: float, high: float, size: Any = (), *, dtype: Any = None, generator: Any = None) -> Any:
    """Numbers from the uniform distribution on [low, high)."""
    return _uniform(_require_generator("uniform", generator), low, high, as_shape(size), named(dtype, default_dtype()))


@op(elements=lambda mean, std, size, dtype, generator: _elements(size), samples="normal(1.0, 0.5, [2, 3])", **_MADE)
def normal(mean: float, std: float, size: Any = (), *, dtype: Any = None, generator: Any = None) -> Any:
    """Numbers from the normal distribution with this mean and deviation."""
    return mean + std * _normal(_require_generator("normal", generator), as_shape(size), named(dtype, default_dtype()))


def _randint_arguments(low: Any, high: Any, size: Any) -> tuple[Any, Any, Any]:
    """Return low, high and size; torch takes `randint(high, size)` too."""
    return (0, low, high) if size is None and isinstance(high, (list, tuple)) else (low, high, size)


@op(
    elements=lambda low, high, size, dtype, generator: _elements(_randint_arguments(low, high, size)[2]),
    samples="randint(0, 5, [2, 3]); randint(5, (2,)); randint(high=5, size=[2])",
    **_MADE,
)
def randint(low: Any = 0, high: Any = None, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Any:
    """Integers from `low` (0 in `randint(high, size)`) to `high` - 1."""
    low, high, size = _randint_arguments(low, high, size)
    if high is None or size is None:
        raise ArgumentError("randint needs a bound and a size", hint="write randint(low, high, size)")
    return _integers(
        _require_generator("randint", generator), low, high, as_shape(size), named(dtype, np.dtype(np.int64))
    )


@op(elements=lambda n, dtype, generator: _elements(n), samples="randperm(5)", **_MADE)
def randperm(n: int, *, dtype: Any = None, generator: Any = None) -> Any:
    """The integers from 0 to n - 1 in random order."""
    return _require_generator("randperm", generator).permutation(*as_shape(n)).astype(named(dtype, np.dtype(np.int64)))


@op(samples="randn_like(zeros(2, 3))", **_MADE)
def randn_like(input: Any, *, dtype: Any = None, generator: Any = None) -> Any:
    """`randn` of the shape and dtype of `input`."""
    return _normal(_require_generator("randn_like", generator), input.shape, named(dtype, input.dtype))


@op(samples="rand_like(zeros(2, 3))", **_MADE)
def rand_like(input: Any, *, dtype: Any = None, generator: Any = None) -> Any:
    """`rand` of the shape and dtype of `input`."""
    return _uniform(_require_generator("rand_like", generator), 0, 1, input.shape, named(dtype, input.dtype))


@op(torch="", samples="uniform_like(zeros(2, 3), -1, 1)", **_MADE)
def uniform_like(input: Any, low: float, high: float, *, dtype: Any = None, generator: Any = None) -> Any:
    """`uniform` of the shape and dtype of `input`."""
    return _uniform(_require_generator("uniform_like", generator), low, high, input.shape, named(dtype, input.dtype))


@op(samples="randint_like(zeros(2, 3), 5); randint_like(zeros(2, 3), 2, 5)", **_MADE)
def randint_like(input: Any, low: int, high: int | None = None, *, dtype: Any = None, generator: Any = None) -> Any:
    """`randint` with the shape and dtype of `input`."""
    low, high = (0, low) if high is None else (low, high)
    return _integers(_require_generator("randint_like", generator), low, high, input.shape, named(dtype, input.dtype))
