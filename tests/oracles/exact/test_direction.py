"""Random directions: an inner product with one sees an error in any single element."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.oracles.exact import ops
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.direction import Direction, scalar
from gradcheck.oracles.exact.dual import Dual
from tests.oracles.exact.calls import PRIME, point

assert ops
SHAPES = [(), (5,), (3, 4), (2, 3, 2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_inner_product_is_with_the_tangent_that_is_added(shape: tuple[int, ...]) -> None:
    at = point()
    direction = Direction(at, np.random.default_rng(0), shape)
    values = np.random.default_rng(1).integers(0, PRIME, shape)
    tangent = direction.added_to(Dual(at, np.asarray(values))).tangent
    assert tangent is not None
    assert tangent.shape == shape
    want = int(np.sum(np.asarray(values, dtype=object) * tangent)) % PRIME
    found = direction.inner(Dual(at, np.asarray(values)))
    assert int(found.value) == want
    assert found.degree.numerator == 1 + max(1, len(shape))


@pytest.mark.parametrize("shape", SHAPES[1:])
def test_no_element_is_left_out(shape: tuple[int, ...]) -> None:
    at = point()
    direction = Direction(at, np.random.default_rng(0), shape)
    for index in np.ndindex(shape):
        error = np.zeros(shape, dtype=np.int64)
        error[index] = 1
        assert direction.inner(Dual(at, error)).value != 0


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_added_to_a_tangent_that_is_there(shape: tuple[int, ...]) -> None:
    at = point()
    direction = Direction(at, np.random.default_rng(0), shape)
    zeros = np.zeros(shape, dtype=np.int64)
    alone = direction.added_to(Dual(at, zeros)).tangent
    both = direction.added_to(Dual(at, zeros, zeros + 7, Degree(1, 1, 2)))
    assert alone is not None
    assert np.array_equal(both.tangent, (alone + 7) % PRIME)
    assert both.degree.tangent == max(1, len(shape)) + 1


def test_scalars() -> None:
    x = scalar(Dual(point(), np.array([[5]]), None, Degree(3)))
    assert (x.shape, int(x.value), x.degree) == ((), 5, Degree(3))
