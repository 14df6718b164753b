"""Each decomposition is what the op is, or says that it does not cover its arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import ops  # noqa: F401  (fills the table)
from gradcheck.autograd.op import TABLE
from gradcheck.engines.tensor_class.decompositions import DECOMPOSITIONS
from gradcheck.engines.tensor_class.wrapper import compute

X, Y = np.array([[1.0, 4.0, 9.0]]), np.array([[2.0], [0.5]])
CALLS: dict[str, list[tuple[Any, ...]]] = {
    "add": [(X, Y, 3)],
    "sub": [(X, Y, 1), (X, 2.0, -1)],
    "div": [(X, Y, None), (X, 4.0, None)],
    "mean": [(X, None, False, None), (X, 1, False, None), (X, 1, True, None)],
    "expand": [(X, (2, -1)), (Y, (3, 2, 4))],
    "squeeze": [(X, None), (X, 0), (X, 1), (X, (0, -1)), (np.array(2.0), None)],
    "unsqueeze": [(X, 0), (X, -1), (X, 1)],
}
COVERED = [(name, args) for name in DECOMPOSITIONS for args in CALLS.get(name, [(X,)])]


@pytest.mark.parametrize(("name", "args"), COVERED)
def test_it_is_the_op(name: str, args: tuple[Any, ...]) -> None:
    found, right = DECOMPOSITIONS[name](*args), compute(TABLE[name], args)
    assert np.shape(found) == np.shape(right)
    np.testing.assert_allclose(found, right, rtol=1e-15)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("add", (X, Y, 1)),
        ("div", (X, Y, "floor")),
        ("mean", (X, None, False, np.dtype(np.float32))),
        ("mean", (X[:0], None, False, None)),
    ],
)
def test_what_it_does_not_cover(name: str, args: tuple[Any, ...]) -> None:
    with np.errstate(all="ignore"):
        assert DECOMPOSITIONS[name](*args) is NotImplemented
