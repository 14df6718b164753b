"""Computed results round at random; moved or chosen data is exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import ops
from gradcheck.autograd.dtypes import BFLOAT16
from gradcheck.autograd.random_rounding import Rounded, Roundings

UNIT = 2.0**-52
X = np.array([0.1, -1.7, 3.3])


def roundings(size: float = 1.0, seed: int = 0) -> Roundings:
    return Roundings(np.random.default_rng(seed), size)


def moves(function: Callable[[Any], Any], array: np.ndarray = X, draws: int = 20) -> np.ndarray:
    """The largest relative move of each element."""
    still = function(array)
    found = [function(roundings(seed=seed).of(array)) for seed in range(draws)]
    assert all(type(one) is Rounded for one in found)
    sizes = np.where(still == 0, 1, np.abs(still))
    return np.max([np.abs(np.asarray(one) - still) / sizes for one in found], axis=0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 1.1,
        lambda x: 1 / x,
        np.exp,
        lambda x: np.matmul(x, np.outer(X, X)),
        lambda x: np.einsum("i,j->ij", x, x),
        lambda x: np.sum(x * x),
        lambda x: (x * x).mean(),
        lambda x: np.cumsum(np.abs(x)),
        lambda x: np.prod(x),
        lambda x: np.linalg.norm(x),
    ],
)
def test_what_is_computed_moves_a_little(function: Callable[[Any], Any]) -> None:
    found = moves(function)
    assert (found > 0).all()
    assert (found < 8 * UNIT).all()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.T,
        lambda x: -x,
        np.abs,
        lambda x: np.maximum(x, 1),
        lambda x: np.concatenate([x, x]),
        lambda x: np.where(x > 0, x, 7),
        lambda x: x[1:],
        lambda x: x.reshape(3, 1),
        lambda x: np.rint(x),
        lambda x: x + 0.0,
        lambda x: np.rint(x) @ np.rint(x),
        lambda x: np.sum(np.rint(x)),
        lambda x: x.astype(np.complex128),
    ],
)
def test_what_is_moved_chosen_or_exact_stays(function: Callable[[Any], Any]) -> None:
    assert not moves(function).any()


def test_a_sum_is_moved_at_its_terms() -> None:
    """Terms that cancel leave their rounding errors."""
    terms = np.array([1.1, 2.3, -3.4])
    assert abs(float(terms.sum())) < 4 * UNIT
    spread = np.std([float(np.sum(roundings(seed=seed).of(terms))) for seed in range(50)])
    assert UNIT < spread < 8 * UNIT
    product = [float((roundings(seed=seed).of(terms)[None] @ np.ones((3, 1)))[0, 0]) for seed in range(50)]
    assert UNIT < np.std(product) < 8 * UNIT


def test_partial_sums_are_moved_by_what_has_moved_those_before_them() -> None:
    ends = [np.asarray(np.cumsum(roundings(seed=seed).of(np.array([1e8 + 0.1, -1e8, 0.3]))))[2] for seed in range(20)]
    assert np.std(ends) > 1e7 * UNIT


def test_comparisons_give_truth_values() -> None:
    assert np.asarray(roundings().of(X) > 0).tolist() == [True, False, True]


def test_size_and_seed() -> None:
    one, other, same = (roundings(64.0, seed).of(X) * 1.1 for seed in (0, 1, 0))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert 8 * UNIT < np.max(np.abs(np.asarray(one) / (X * 1.1) - 1)) < 65 * UNIT


@pytest.mark.parametrize(("dtype", "unit"), [(np.float32, 2.0**-23), (np.float16, 2.0**-10), (BFLOAT16, 2.0**-7)])
def test_low_precision_rounds_by_its_own_unit(dtype: Any, unit: float) -> None:
    numbers = X.astype(dtype)
    one = np.asarray(1.1).astype(dtype)
    exact = numbers.astype(np.float64) * np.float64(one)
    found = np.array([np.asarray(roundings(seed=seed).of(numbers) * one, np.float64) for seed in range(20)])
    off = np.abs(found - exact).max(axis=0) / np.abs(exact)
    assert (off > unit / 4).all()
    assert (off < 3 * unit).all()


def test_a_cast_to_fewer_digits_rounds_and_one_to_more_does_not() -> None:
    narrow = {tuple(np.asarray(roundings(seed=seed).of(X).astype(np.float16)).tolist()) for seed in range(20)}
    assert len(narrow) > 1
    halves = X.astype(np.float16)
    assert np.array_equal(roundings().of(halves).astype(np.float32), halves.astype(np.float32))
    whole = np.array([1.0, 2.0])
    assert np.array_equal(roundings().of(whole).astype(np.float16), whole)


def test_zeros_infinities_and_nan_stay() -> None:
    odd = np.array([0.0, np.inf, -np.inf, np.nan])
    assert np.array_equal(np.asarray(roundings().of(odd) * 1.1), odd, equal_nan=True)


def test_an_underflow_may_go_either_way() -> None:
    found = {float(np.asarray(roundings(seed=seed).of(np.array([1e-200])) ** 2)[0]) for seed in range(20)}
    assert found == {0.0, 5e-324}
    assert not np.asarray(roundings().of(np.zeros(3)) * 1.1).any()


def test_complex_numbers_move_by_their_size_and_real_ones_stay_real() -> None:
    numbers = np.array([1e-9 + 1j, 3.3 + 0j])
    found = np.array([np.asarray(roundings(seed=seed).of(numbers) * (1.1 + 0j)) for seed in range(20)])
    assert np.std(found[:, 0].real) > UNIT / 8
    assert not found[:, 1].imag.any()


def test_results_written_into_an_array_are_moved_there() -> None:
    total = roundings().of(X.copy())
    total += total
    total *= 1.1
    assert type(total) is Rounded
    assert not np.array_equal(total, 2 * X * 1.1)
    target = np.zeros(2)
    np.add.at(target, np.array([0, 0, 1]), roundings().of(X))
    assert np.allclose(target, [X[0] + X[1], X[2]], rtol=1e-14)
    assert not np.array_equal(target, [X[0] + X[1], X[2]])


def test_what_is_saturated_is_no_exact_one() -> None:
    """1 - tanh(20) is a rounding error in double precision."""
    left = [float(np.asarray(1 - np.tanh(roundings(seed=seed).of(np.array([20.0]))) ** 2)[0]) for seed in range(20)]
    assert 0 < np.max(np.abs(left)) < 16 * UNIT


def test_ops_take_them_as_they_take_arrays() -> None:
    made = ops.softmax(roundings().of(X), 0)
    assert type(made) is Rounded
    assert np.allclose(made, ops.softmax(X, 0), rtol=1e-14)


@pytest.mark.parametrize("function", [np.linalg.inv, np.linalg.pinv, lambda a: np.linalg.qr(a)[0]])
def test_what_is_stable_for_a_matrix_as_a_whole_moves_its_small_elements_by_the_large_ones(
    function: Callable[[Any], Any],
) -> None:
    matrices = np.array([[[8.0, 1e-7, 0.0], [2e-7, 5.0, 0.3], [0.0, 0.2, 3.0]], 1e-9 * np.diag([3.0, 2.0, 1.0])])
    found = [np.asarray(function(Roundings(np.random.default_rng(seed)).of(matrices))) for seed in range(6)]
    spread, largest = np.ptp(found, axis=0), np.abs(function(matrices)).max(axis=(1, 2), keepdims=True)
    assert (spread > 1e-18 * largest).all()  # also where there is a zero
    assert (spread < 1e-13 * largest).all()  # each matrix by its own
