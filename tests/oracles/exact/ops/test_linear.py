"""Ops that move elements or add them up: values and tangents alike, by the forward on integers."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.dual_numbers import Dual, Indicator
from gradcheck.oracles.exact.modular_matrices import DiagonalMatrix, MatrixChain
from tests.oracles.exact.calls import PRIME, point


def running(*shape: int) -> Dual:
    values = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
    return Dual(point(), values, PRIME - values, Degree(1, 2, 3, 4))


def test_values_and_tangents_are_moved_alike() -> None:
    x = running(2, 3)
    found = TABLE["permute"](x, (1, 0))
    assert np.array_equal(found.value, x.value.T)
    assert np.array_equal(found.tangent, (PRIME - x.value).T)
    assert found.degree == x.degree


def test_sums_stay_below_the_prime_and_have_more_denominators() -> None:
    x = Dual(point(), np.full(3, PRIME - 1), None, Degree(1, 2))
    found = TABLE["cumsum"](x, 0)
    assert found.value.tolist() == [PRIME - 1, PRIME - 2, PRIME - 3]
    assert found.degree == Degree(1, 2).summed(3)
    assert TABLE["neg"](x).degree == x.degree


def test_several_tensors_of_which_one_moves() -> None:
    x = running(2)
    found = TABLE["cat"]([x, np.array([5.0, 6.0])])
    assert found.value.tolist() == [1, 2, 5, 6]
    assert found.tangent.tolist() == [PRIME - 1, PRIME - 2, 0, 0]
    assert found.degree == x.degree.join(Degree())


def test_a_number_is_scattered_as_often_as_there_are_indices() -> None:
    found = TABLE["scatter"](running(4), 0, np.array([0, 2]), 9)
    assert found.value.tolist() == [9, 2, 9, 4]
    assert found.tangent.tolist() == [0, PRIME - 2, 0, PRIME - 4]


def test_padding_has_no_tangent() -> None:
    found = TABLE["constant_pad_nd"](running(2), (1, 1), 7)
    assert found.value.tolist() == [7, 1, 2, 7]
    assert found.tangent.tolist() == [0, PRIME - 1, PRIME - 2, 0]


def test_indicators_stay_indicators_where_they_only_move() -> None:
    c = running(3) > 0
    assert isinstance(TABLE["flip"](c, (0,)), Indicator)
    assert not isinstance(TABLE["cumsum"](c, 0), Indicator)


def test_chains_stay_chains_when_they_are_transposed() -> None:
    a, b = running(3, 4), running(4, 5)
    transposed = TABLE["T"](TABLE["matmul"](a, b))
    assert isinstance(transposed.lazy_value, MatrixChain)
    assert isinstance(transposed.lazy_tangent, MatrixChain)
    assert np.array_equal(transposed.value, (a.value @ b.value).T)
    assert np.array_equal(TABLE["transpose"](a, 1, 1).value, a.value)
    assert np.array_equal(TABLE["mT"](running(2, 3, 4)).value, running(2, 3, 4).value.mT)


def test_what_is_detached_has_no_tangent() -> None:
    assert TABLE["detach"](running(3)).tangent is None


def test_casts_to_integers_are_refused() -> None:
    with pytest.raises(Unsupported):
        TABLE["to"](running(3), np.dtype(np.int64))
    c = running(3) > 0
    assert np.array_equal(TABLE["to"](c, np.dtype(np.int64)).value, c.value)


def test_indices_cannot_depend_on_values() -> None:
    x = running(3)
    with pytest.raises(Unsupported, match="indices"):
        TABLE["getitem"](x, x > 0)


def test_arrays_like_another() -> None:
    x = running(2, 2)
    assert np.array_equal(TABLE["zeros_like"](x), np.zeros((2, 2)))
    assert np.array_equal(TABLE["ones_like"](x), np.ones((2, 2)))
    assert np.array_equal(TABLE["full_like"](x, 3), np.full((2, 2), 3))


def test_a_vector_on_the_diagonal() -> None:
    x = running(3)
    found = TABLE["diag_embed"](x)
    assert all(type(chain.factors[0]) is DiagonalMatrix for chain in (found.lazy_value, found.lazy_tangent))
    assert np.array_equal(found.value, np.diag(x.value))
    assert np.array_equal(found.tangent, np.diag(x.tangent))
    assert found.degree == x.degree
    assert np.array_equal(TABLE["diag_embed"](x, 1).value, np.diag(x.value, 1))
    assert TABLE["diag_embed"](running(2, 3)).shape == (2, 3, 3)
    assert TABLE["diag_embed"](running(0)).shape == (0, 0)
