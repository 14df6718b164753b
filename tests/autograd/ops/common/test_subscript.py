"""Subscripts: basic parts, index arrays, the size of results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.ops.common.subscript import add_at, is_basic, result_size, split_index
from gradcheck.errors import ArgumentError

ALL = slice(None)


@pytest.mark.parametrize("index", [1, ALL, None, Ellipsis, (0, None, slice(1, 5, 2), Ellipsis)])
def test_numpys_own_indexing_does_what_torchs_does(index: Any) -> None:
    assert is_basic(index)


@pytest.mark.parametrize("index", [True, [0, 1], np.array(2), slice(None, None, -1), (0, np.array([1]))])
def test_what_numpy_does_differently(index: Any) -> None:
    assert not is_basic(index)


def test_integers_are_taken_before_index_arrays() -> None:
    """`x[0, :, [1, 1]]`: NumPy would move the indexed dimension to the front."""
    basic, advanced = split_index((0, ALL, [1, 1]), 3)
    assert basic == (0, ALL, ALL)
    assert advanced[0] == ALL
    assert advanced[1].tolist() == [1, 1]
    assert split_index((0, Ellipsis), 3) == ((0, ALL, ALL), ())


def test_bytes_are_masks_and_0d_arrays_integers() -> None:
    _, (mask,) = split_index(np.array([1, 0], np.uint8), 1)
    assert mask.dtype == bool
    assert split_index(np.array(2), 1) == ((2,), ())


@pytest.mark.parametrize(
    ("index", "error"),
    [
        ((0, 0), IndexError),
        ((Ellipsis, Ellipsis), IndexError),
        (0.5, IndexError),
        (slice(None, None, -1), ArgumentError),
    ],
)
def test_what_cannot_index(index: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        split_index(index, 1)


@pytest.mark.parametrize(
    ("index", "size"),
    [
        ([0, 0, 1], 12),
        (([0, 1], [2, 2]), 2),
        ((ALL, np.array([True, False, False, True])), 6),
        (np.ones((3, 4), bool), 12),
    ],
)
def test_the_size_of_a_result(index: Any, size: int) -> None:
    assert result_size((3, 4), index) == size


def test_a_place_named_twice_is_added_to_twice() -> None:
    out = np.zeros((3, 2))
    add_at(out, (np.array([1, 1, -1]),), np.ones((3, 2)))
    assert out.tolist() == [[0, 0], [2, 2], [1, 1]]
    rows = np.zeros((2, 3, 2))
    add_at(rows, (ALL, np.array([0, 0])), np.ones((2, 2, 2)))
    assert rows[:, 0].tolist() == [[2, 2], [2, 2]]
