"""Tensors of random numbers, from the `numpy.random.Generator` that the caller passes as `generator`.

They serve where values are drawn once, for inputs and constants; in a graph, engines could not agree on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import named
from gradcheck.autograd.modes import default_dtype
from gradcheck.autograd.op import op
from gradcheck.autograd.ops.creation import count, sizes
from gradcheck.errors import ArgumentError

_MADE: dict[str, Any] = {"method": False, "rounds": True}


def _stream(name: str, generator: Any) -> np.random.Generator:
    if not isinstance(generator, np.random.Generator):
        raise ArgumentError(f"{name} draws random values", hint="draw them under inputs or constants, and use the name")
    return generator


def _normal(stream: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Standard normal numbers; complex ones have variance 1, as in torch."""
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


@op(variadic="size", elements=count, samples=("randn(2, 3)", "randn([])", "randn(2, dtype=torch.float32)"), **_MADE)
def randn(size: Any, *, dtype: Any = None, generator: Any = None) -> Any:
    """Numbers from the standard normal distribution."""
    return _normal(_stream("randn", generator), sizes(size), named(dtype, default_dtype()))


@op(variadic="size", elements=count, samples=("rand(2, 3)", "rand([0])"), **_MADE)
def rand(size: Any, *, dtype: Any = None, generator: Any = None) -> Any:
    """Numbers from the uniform distribution on [0, 1)."""
    return _uniform(_stream("rand", generator), 0, 1, sizes(size), named(dtype, default_dtype()))


@op(
    torch="",
    elements=lambda low, high, size, dtype, generator: count(size),
    samples=("uniform(0.1, 2, [2, 3])", "uniform(-1, 1)"),
    **_MADE,
)
def uniform(low: float, high: float, size: Any = (), *, dtype: Any = None, generator: Any = None) -> Any:
    """Numbers from the uniform distribution on [low, high)."""
    return _uniform(_stream("uniform", generator), low, high, sizes(size), named(dtype, default_dtype()))


@op(
    elements=lambda mean, std, size, dtype, generator: count(size),
    samples=("normal(1.0, 0.5, [2, 3])",),
    **_MADE,
)
def normal(mean: float, std: float, size: Any = (), *, dtype: Any = None, generator: Any = None) -> Any:
    """Numbers from the normal distribution of this mean and standard deviation."""
    return mean + std * _normal(_stream("normal", generator), sizes(size), named(dtype, default_dtype()))


def _randint_arguments(low: Any, high: Any, size: Any) -> tuple[Any, Any, Any]:
    """torch takes `randint(high, size)` too."""
    return (0, low, high) if size is None and isinstance(high, (list, tuple)) else (low, high, size)


@op(
    elements=lambda low, high, size, dtype, generator: count(_randint_arguments(low, high, size)[2]),
    samples=("randint(0, 5, [2, 3])", "randint(5, (2,))", "randint(high=5, size=[2])"),
    **_MADE,
)
def randint(low: Any = 0, high: Any = None, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Any:
    """Integers from `low` up to but not including `high`; `randint(high, size)` starts at 0."""
    low, high, size = _randint_arguments(low, high, size)
    if high is None or size is None:
        raise ArgumentError("randint needs a bound and a size", hint="write randint(low, high, size)")
    return _integers(_stream("randint", generator), low, high, sizes(size), named(dtype, np.dtype(np.int64)))


@op(elements=lambda n, dtype, generator: count(n), samples=("randperm(5)",), **_MADE)
def randperm(n: int, *, dtype: Any = None, generator: Any = None) -> Any:
    """The integers from 0 to n - 1 in random order."""
    return _stream("randperm", generator).permutation(*sizes(n)).astype(named(dtype, np.dtype(np.int64)))


@op(samples=("randn_like(zeros(2, 3))",), **_MADE)
def randn_like(input: Any, *, dtype: Any = None, generator: Any = None) -> Any:
    """`randn` of the shape and dtype of `input`."""
    return _normal(_stream("randn_like", generator), input.shape, named(dtype, input.dtype))


@op(samples=("rand_like(zeros(2, 3))",), **_MADE)
def rand_like(input: Any, *, dtype: Any = None, generator: Any = None) -> Any:
    """`rand` of the shape and dtype of `input`."""
    return _uniform(_stream("rand_like", generator), 0, 1, input.shape, named(dtype, input.dtype))


@op(torch="", samples=("uniform_like(zeros(2, 3), -1, 1)",), **_MADE)
def uniform_like(input: Any, low: float, high: float, *, dtype: Any = None, generator: Any = None) -> Any:
    """`uniform` of the shape and dtype of `input`."""
    return _uniform(_stream("uniform_like", generator), low, high, input.shape, named(dtype, input.dtype))


@op(samples=("randint_like(zeros(2, 3), 5)", "randint_like(zeros(2, 3), 2, 5)"), **_MADE)
def randint_like(input: Any, low: int, high: int | None = None, *, dtype: Any = None, generator: Any = None) -> Any:
    """`randint` of the shape and dtype of `input`; `randint_like(input, high)` starts at 0."""
    low, high = (0, low) if high is None else (low, high)
    return _integers(_stream("randint_like", generator), low, high, input.shape, named(dtype, input.dtype))
