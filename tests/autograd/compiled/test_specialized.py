"""Specialized forwards give the bits of the forwards that they stand for, or none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE
from gradcheck.autograd.compiled.specialized import SPECIALIZED
from gradcheck.errors import TensorError

X = np.random.default_rng(0).standard_normal((3, 4))
PLACES = np.array([2, 0, 2])
GRID = np.array([[0, 3], [2, 2], [1, 0]])
#: By op: arguments that are specialized, and arguments that are not.
CALLS: dict[str, tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]] = {
    "expand": ([(X, (2, 3, 4)), (X[:, :1], (-1, 5))], [(X, (500, 3, 4))]),
    "getitem": ([(X, [0, 2]), (X, PLACES)], [(X, slice(1)), (X, X > 0), (X, (0, PLACES))]),
    "index_adjoint": (
        [(X[0], 1, (3, 4)), (X[:, :2], (slice(None), slice(2)), (3, 4)), (X[[0, 2, 0]], [0, 2, 0], (3, 4))],
        [(X, PLACES, (3, 4))],
    ),
    "gather": ([(X, 1, GRID, False), (X, -2, GRID[:, :1], False)], [(X, 1, GRID[:0], False)]),
    "scatter_add": ([(X, 1, GRID, X[:, :2])], [(X, 1, GRID, X)]),
    "index_select": ([(X, 0, PLACES), (X, 1, PLACES)], [(X, 0, PLACES[:0]), (X, 0, PLACES.astype(np.int32))]),
    "index_add": ([(X, 0, PLACES, X, 1)], [(X, 0, PLACES, X, 2), (X, 0, PLACES, X[:1], 1)]),
}


def arrays(args: tuple[Any, ...]) -> list[np.ndarray]:
    return [arg for arg in args if isinstance(arg, np.ndarray)]


def test_every_entry_is_tried() -> None:
    assert {TABLE[name].forward for name in CALLS} == set(SPECIALIZED)


@pytest.mark.parametrize("name", CALLS)
def test_a_specialized_forward_gives_the_bits_of_the_forward(name: str) -> None:
    forward = TABLE[name].forward
    for args in CALLS[name][0]:
        function = SPECIALIZED[forward](*args)
        assert function is not None
        found, wanted = function(*arrays(args)), np.asarray(forward(*args))
        np.testing.assert_array_equal(found, wanted, strict=True)
        assert not np.shares_memory(found, X)


@pytest.mark.parametrize("name", CALLS)
def test_other_arguments_are_not_specialized(name: str) -> None:
    assert [SPECIALIZED[TABLE[name].forward](*args) for args in CALLS[name][1]] == [None] * len(CALLS[name][1])


@pytest.mark.parametrize("name", ["gather", "index_select"])
@pytest.mark.parametrize("wrong", [-1, 4])
def test_an_index_out_of_range_is_an_error_as_it_is_of_the_forward(name: str, wrong: int) -> None:
    args = CALLS[name][0][0]
    function = SPECIALIZED[TABLE[name].forward](*args)
    assert function is not None
    x, index = arrays(args)
    with pytest.raises(IndexError):
        function(x, np.full_like(index, wrong))
    given = tuple(np.full_like(index, wrong) if arg is index else arg for arg in args)
    with pytest.raises((TensorError, IndexError)):
        TABLE[name].compute(given)
