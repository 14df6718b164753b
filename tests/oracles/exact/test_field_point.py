"""Values of uninterpreted functions: the same for the same argument, defined where they are known, and counted."""

from __future__ import annotations

import numpy as np

from gradcheck.oracles.exact import modular_arithmetic
from gradcheck.oracles.exact.degree import RANDOM, UNINTERPRETED, Degree
from gradcheck.oracles.exact.field_point import FieldPoint

PRIME = modular_arithmetic.PRIMES[0]
ARGUMENTS = np.arange(1, 1001, dtype=np.int64)


def test_the_same_for_the_same_argument() -> None:
    point = FieldPoint(PRIME, 5)
    first = point.value("f", ARGUMENTS, RANDOM)
    assert np.array_equal(point.value("f", ARGUMENTS[::-1], RANDOM), first[::-1])
    assert np.array_equal(point.value("f", ARGUMENTS.reshape(10, 100), RANDOM).ravel(), first)
    assert point.value("f", np.asarray(ARGUMENTS[3]), RANDOM) == first[3]


def test_different_for_others() -> None:
    point = FieldPoint(PRIME, 5)
    values = point.value("f", ARGUMENTS, RANDOM)
    assert len(set(values.tolist())) == len(values)
    assert not np.any(values == point.value("g", ARGUMENTS, RANDOM))
    assert not np.any(values == FieldPoint(PRIME, 6).value("f", ARGUMENTS, RANDOM))


def test_evenly_spread_and_never_0() -> None:
    values = FieldPoint(101, 5).value("f", np.arange(100_000), RANDOM)
    counts = np.bincount(values, minlength=101)
    assert counts[0] == 0
    assert np.all(np.abs(counts[1:] - 1000) < 6 * np.sqrt(1000))


def test_values_that_are_defined() -> None:
    point = FieldPoint(PRIME, 5)
    free = point.value("f", ARGUMENTS, RANDOM)
    point.define("f", np.array([7, 3]), np.array([70, 30]), RANDOM)
    point.define("f", np.array([9, 3]), np.array([90, 31]), RANDOM)
    values = point.value("f", ARGUMENTS, RANDOM)
    assert (values[6], values[2], values[8]) == (70, 30, 90)  # what was defined first stays
    others = ~np.isin(ARGUMENTS, [3, 7, 9])
    assert np.array_equal(values[others], free[others])
    assert point.defined_values("f", np.array([3, 4]), np.array([-1, -1])).tolist() == [30, -1]
    assert point.defined_values("g", np.array([3]), np.array([-1])).tolist() == [-1]


def test_the_bound_of_a_polynomial() -> None:
    point = FieldPoint(PRIME, 5)
    assert point.error_bound(Degree(3)) == 3 / (PRIME - 1)
    assert point.error_bound(Degree(3, 10)) == 3 / (PRIME - 11)
    assert point.error_bound(Degree(10**10)) == 1
    assert point.error_bound(Degree(2**4000)) == point.error_bound(Degree(2**4000, 2**4000)) == 1
    assert FieldPoint(101, 0).error_bound(Degree(1, 100)) == 1


def test_collisions_of_arguments_are_in_the_bound() -> None:
    """Any two of 10 arguments may be the same, each pair with the odds of their difference."""
    point = FieldPoint(PRIME, 5)
    point.value("f", ARGUMENTS[:10], Degree(2, 1))
    point.value("f", ARGUMENTS[:10], Degree(2, 1))  # the same once more
    assert point.error_bound(Degree(100)) == (100 + 45 * 3) / (PRIME - 1)
    assert point.error_bound(Degree(1)) == (1 + 30) / (
        PRIME - 1
    )  # one factor can only be lost to the others of its kind
    point.value("g", ARGUMENTS[:2], Degree(1, kinds=UNINTERPRETED))  # a function of a function
    assert point.error_bound(Degree(1)) == (1 + 45 * 3 + 1) / (PRIME - 1)
    point.zero_tests += 7
    assert point.error_bound(Degree(1)) == (1 + 45 * 3 + 1 + 7) / (PRIME - 1)


def test_infinity_has_an_exponential() -> None:
    point = FieldPoint(PRIME, 5)
    endless = np.array([point.infinity(-1)])
    assert point.value("exp", endless, RANDOM) == 0
    assert point.has_infinity


def test_an_infinity_is_the_same_number_each_time() -> None:
    point = FieldPoint(PRIME, 5)
    assert point.infinity(1) == point.infinity(1) != point.infinity(-1)
    assert point.uninterpreted == {"inf", "-inf"}


def test_the_weight_of_a_pair_is_no_function() -> None:
    point = FieldPoint(PRIME, 5)
    assert point.weight() == point.weight() != FieldPoint(PRIME, 6).weight()
    assert not point.uninterpreted


def test_vectors_are_drawn_at_once_and_never_twice() -> None:
    point, generator = FieldPoint(PRIME, 5), np.random.default_rng(0)
    drawn = [point.vector(generator, size) for size in (3, 500, 20, 1000, 0, 7)]
    assert [len(one) for one in drawn] == [3, 500, 20, 1000, 0, 7]
    together = np.concatenate(drawn)
    assert len(set(together.tolist())) == len(together)
    assert together.min() >= 1
    assert together.max() < PRIME
