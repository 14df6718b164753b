"""Mistakes in blocks of a derivative."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.derivatives.block_mistakes import blocks, some_entries
from gradcheck.checks.derivatives.entry_mistakes import Entries, common_mistake
from gradcheck.reports.phrases import say

A = np.array([[1.0, 2.0, 5.0], [3.0, 7.0, -4.0]])
BATCH = np.arange(1.0, 13).reshape(3, 2, 2) ** 2
#: Of `x @ A.T`, of a batch of maps, and of one without zeros.
EQUAL = np.einsum("ij,ab->iajb", np.eye(4), A)
BLOCKS = np.einsum("iab,ij->iajb", BATCH, np.eye(3))
FULL = np.arange(1.0, 37).reshape(2, 3, 2, 3)


@pytest.mark.parametrize(
    ("got", "want", "words"),
    [
        (A, EQUAL, "one block alone: it belongs where the indices of axes 0 and 2 are equal, and 0 elsewhere"),
        (BATCH, BLOCKS, "the blocks alone: they belong where the indices of axes 0 and 2 are equal"),
        (np.array(2.0), 2 * np.eye(3)[:, None], "one block alone"),
        (FULL * np.eye(3)[:, None, :], FULL, "the entries at which the indices of axes 1 and 3 differ are missing"),
        (FULL.sum(axis=(0, 1)), FULL, "summed over what is differentiated: J has a row for each element of it"),
        (FULL.sum(axis=(2, 3)), FULL, "summed over the elements by which it is differentiated"),
        (A * [1, 1, 0], A, "0 stands in column 2 instead"),
        (A * [[0], [1]], A, "0 stands in row 0 instead"),
        (A * [[1, 0, 1], [0, 1, 1]], A, "0 stands at entries [0, 1] and [1, 0] instead"),
        (0 * A, A, "0 stands at some entries"),
        (A * [1, -1, -1], A, "the sign is wrong in columns 1 and 2"),
        (A * [[1, 1, 1], [1, -1, 1]], A, "the sign is wrong at entry [1, 1]"),
        (A[0] * [1, -1, 1], A[0], "the sign is wrong at entry [1]"),
        (A * [[1], [0.5]], A, "off by the factor 0.5 in row 1"),
        (A * [1, 1, 0.3], A, "off by the factor 0.3 in column 2"),
        (A * [[1, 1, 1], [1, -3, 1]], A, "off by the factor -3 at entry [1, 1]"),
        (A * [[1, 1, 1], [1, 0.37, 1]], A, ""),
        (
            np.einsum("iab,ij->iajb", BATCH, np.ones((3, 3))),
            BLOCKS,
            "right where the indices of axes 0 and 2 are equal",
        ),
        (A + A[::-1], A, ""),
    ],
)
def test_it_is_recognised(got: np.ndarray, want: np.ndarray, words: str) -> None:
    got = got if got.ndim else got.reshape((1,))
    found = common_mistake([Entries(got, want, want.ndim - want.ndim // 2, "J", 1e-6)], (blocks, some_entries))
    assert (words in say(found[1])) if found and words else found is None and not words


def test_places_that_vary_with_sizes_are_not_listed() -> None:
    """A block of zeros has other rows at other sizes."""
    wrong = []
    for size in (2, 3):
        want = np.concatenate([np.eye(size), np.full((size, size), 2.0)])
        wrong.append(Entries(want * (np.arange(2 * size) >= size)[:, None], want, 1, "J", 1e-6))
    found = common_mistake(wrong, (some_entries,))
    assert found is not None
    assert say(found[1]) == "0 stands at some entries instead of what belongs there"
