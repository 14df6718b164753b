"""NumPy's sentences in our words: those that this NumPy says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gradcheck.autograd.numpy_errors import reworded

X = np.ones((2, 3))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: np.linalg.inv(np.zeros((2, 2))), "the matrix is singular"),
        (lambda: np.linalg.cholesky(-np.eye(2)), "the matrix is not positive definite"),
        (lambda: X[2], "index 2 is beyond dimension 0, which has a size of 2"),
        (lambda: X[0, 0, 0], "3 indices for a tensor with 2 dimensions"),
        (lambda: X[np.array([True, False, True])], "a mask of 3 along dimension 0, which has a size of 2"),
        (lambda: X[np.array([0, 1]), np.array([0, 1, 2])], "indices of shapes (2,) (3,) do not broadcast"),
        (lambda: bool(X), "one number is wanted, not a tensor of several"),
        (lambda: X.reshape(4), "6 elements do not fill the shape (4,)"),
        (lambda: [*np.array(1)], "several values are wanted, not one"),
        (lambda: np.dtype("abc"), "'abc' is no dtype"),
    ],
)
def test_what_numpy_says_is_said_in_our_words(call: Callable[[], object], told: str) -> None:
    with pytest.raises((ValueError, TypeError, IndexError)) as caught:
        call()
    assert reworded(str(caught.value)) == told


def test_what_is_not_known_stays() -> None:
    assert reworded("who knows") == "who knows"
