"""Recorded functions and specialized forwards give NumPy's bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE
from gradcheck.autograd.compiled.array_tracing import ArrayTrace, TracedArray
from gradcheck.autograd.compiled.fast_forwards import RECORDED, SPECIALIZED, beside_zero
from gradcheck.autograd.compiled.generated_code import define
from gradcheck.errors import TensorError

CALLS: dict[Any, Callable[[Any], Any]] = {
    np.sum: lambda x: np.sum(x, axis=1, keepdims=True),
    np.prod: lambda x: np.prod(x, axis=(0, 2)),
    np.max: lambda x: np.max(x, axis=-1),
    np.min: lambda x: np.min(x),
    np.cumsum: lambda x: np.cumsum(x, axis=1),
    np.cumprod: lambda x: np.cumprod(x, axis=0),
    np.shape: lambda x: x + np.shape(x)[1],
    np.ndim: lambda x: x + np.ndim(x),
    np.size: lambda x: x / np.size(x),
    np.zeros_like: lambda x: x + np.zeros_like(x),
    np.ones_like: lambda x: x + np.ones_like(x),
    np.full_like: lambda x: x * np.full_like(x, 2.5),
    np.reshape: lambda x: np.reshape(x, (3, -1)),
    np.squeeze: lambda x: np.squeeze(x[:, :1], 1),
    np.expand_dims: lambda x: np.expand_dims(x, (0, 2)),
    np.transpose: lambda x: np.transpose(x, (2, 0, 1)),
    np.swapaxes: lambda x: np.swapaxes(x, 0, -1),
    np.moveaxis: lambda x: np.moveaxis(x, 0, 1),
    np.flip: lambda x: np.flip(x, (0, 2)),
    np.roll: lambda x: np.roll(x, (1,), (1,)) + np.roll(x, 2),
    np.tril: lambda x: np.tril(x, -1),
    np.triu: lambda x: np.triu(x, 1),
    np.diagonal: lambda x: np.diagonal(x, 0, 1, 2),
    np.concatenate: lambda x: np.concatenate((x, x), 1),
    np.stack: lambda x: np.stack([x, x], 1),
    np.where: lambda x: np.where(x > 0, x, -0.0),
    np.argmax: lambda x: np.argmax(x, axis=1),
    np.argmin: lambda x: np.argmin(x, axis=0),
    np.tile: lambda x: np.tile(x, (2, 1, 1)),
    np.take_along_axis: lambda x: np.take_along_axis(x, np.zeros((2, 1, 4), np.int64), 1),
    np.einsum: lambda x: np.einsum("ijk,ijk->ij", x, x),
}


def test_every_recorded_function_is_tried() -> None:
    assert set(CALLS) == set(RECORDED)


@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_a_recorded_function_gives_the_bits_of_numpy(function: Any) -> None:
    stream = np.random.default_rng(0)
    trace, call = ArrayTrace(RECORDED, SPECIALIZED), CALLS[function]
    made = call(TracedArray(stream.standard_normal((2, 3, 4)), "x", trace))
    run = define("run", "x", [*trace.code([made]), f"return {made.name}"], trace.names)
    for _ in range(2):
        x = np.round(stream.standard_normal((2, 3, 4)), 1)  # with ties and zeros
        found, wanted = run(x), np.asarray(call(x))
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        assert np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(wanted).tobytes()


def test_a_mask_selects_of_many_what_numpy_selects() -> None:
    numbers, stream = np.array([0.0, -0.0, np.nan, 2.0, -np.inf, 5e-324] * 400), np.random.default_rng(0)
    mask = stream.random(numbers.size) < 0.5
    for constant in map(np.asarray, (0.0, -0.0, 2.0, np.nan)):
        for chosen, other in ((constant, numbers), (numbers, constant), (constant, numbers[::-1])):
            select = beside_zero(mask, chosen, other)
            assert select is not None
            assert select(mask, chosen, other).tobytes() == np.where(mask, chosen, other).tobytes()
    assert beside_zero(mask, numbers, numbers) is None


# Forwards ---------------------------------------------------------------------------------------------

X = np.random.default_rng(0).standard_normal((3, 4))
PLACES = np.array([2, 0, 2])
GRID = np.array([[0, 3], [2, 2], [1, 0]])
#: By op: arguments that are specialized, and arguments that are not.
FORWARDS: dict[str, tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]] = {
    "expand": ([(X, (2, 3, 4)), (X[:, :1], (-1, 5))], [(X, (500, 3, 4))]),
    "getitem": ([(X, [0, 2]), (X, PLACES)], [(X, slice(1)), (X, X > 0), (X, (0, PLACES))]),
    "index_adjoint": (
        [(X[0], 1, (3, 4)), (X[:, :2], (slice(None), slice(2)), (3, 4)), (X[[0, 2, 0]], [0, 2, 0], (3, 4))],
        [(X, PLACES, (3, 4))],
    ),
    "gather": (
        [(X, 1, GRID, False), (X, -2, GRID[:, :1], False)],
        [(X, 1, GRID[:0], False), (X, 0, GRID.repeat(3, 1), False)],
    ),
    "scatter_add": ([(X, 1, GRID, X[:, :2])], [(X, 1, GRID, X), (X[:, :1], 0, GRID, X[:, :2])]),
    "index_select": ([(X, 0, PLACES), (X, 1, PLACES)], [(X, 0, PLACES[:0]), (X, 0, PLACES.astype(np.int32))]),
    "index_add": ([(X, 0, PLACES, X, 1)], [(X, 0, PLACES, X, 2), (X, 0, PLACES, X[:1], 1)]),
}


def arrays(args: tuple[Any, ...]) -> list[np.ndarray]:
    return [arg for arg in args if isinstance(arg, np.ndarray)]


def test_every_specialized_forward_is_tried() -> None:
    assert {TABLE[name].forward for name in FORWARDS} == set(SPECIALIZED)


@pytest.mark.parametrize("name", FORWARDS)
def test_a_specialized_forward_gives_the_bits_of_the_forward(name: str) -> None:
    forward = TABLE[name].forward
    for args in FORWARDS[name][0]:
        function = SPECIALIZED[forward](*args)
        assert function is not None
        found, wanted = function(*arrays(args)), np.asarray(forward(*args))
        np.testing.assert_array_equal(found, wanted, strict=True)
        assert not np.shares_memory(found, X)


@pytest.mark.parametrize("name", FORWARDS)
def test_other_arguments_are_not_specialized(name: str) -> None:
    assert [SPECIALIZED[TABLE[name].forward](*args) for args in FORWARDS[name][1]] == [None] * len(FORWARDS[name][1])


@pytest.mark.parametrize("name", ["gather", "index_select"])
@pytest.mark.parametrize("wrong", [-1, 4])
def test_an_index_out_of_range_is_an_error_as_it_is_of_the_forward(name: str, wrong: int) -> None:
    args = FORWARDS[name][0][0]
    function = SPECIALIZED[TABLE[name].forward](*args)
    assert function is not None
    x, index = arrays(args)
    with pytest.raises(IndexError):
        function(x, np.full_like(index, wrong))
    given = tuple(np.full_like(index, wrong) if arg is index else arg for arg in args)
    with pytest.raises((TensorError, IndexError)):
        TABLE[name].compute(given)
