"""Values that are made up: the same for the same argument, related where they are known to be, and counted."""

from __future__ import annotations

import numpy as np

from gradcheck.oracles.exact import modular
from gradcheck.oracles.exact.degree import MADE_UP, RANDOM, Degree
from gradcheck.oracles.exact.point import Point

PRIME = modular.PRIMES[0]
ARGUMENTS = np.arange(1, 1001, dtype=np.int64)


def test_the_same_for_the_same_argument() -> None:
    point = Point(PRIME, 5)
    first = point.made_up("f", ARGUMENTS, RANDOM)
    assert np.array_equal(point.made_up("f", ARGUMENTS[::-1], RANDOM), first[::-1])
    assert np.array_equal(point.made_up("f", ARGUMENTS.reshape(10, 100), RANDOM).ravel(), first)
    assert point.made_up("f", np.asarray(ARGUMENTS[3]), RANDOM) == first[3]


def test_different_for_others() -> None:
    point = Point(PRIME, 5)
    values = point.made_up("f", ARGUMENTS, RANDOM)
    assert len(set(values.tolist())) == len(values)
    assert not np.any(values == point.made_up("g", ARGUMENTS, RANDOM))
    assert not np.any(values == Point(PRIME, 6).made_up("f", ARGUMENTS, RANDOM))


def test_evenly_spread_and_never_0() -> None:
    values = Point(101, 5).made_up("f", np.arange(100_000), RANDOM)
    counts = np.bincount(values, minlength=101)
    assert counts[0] == 0
    assert np.all(np.abs(counts[1:] - 1000) < 6 * np.sqrt(1000))


def test_what_is_known() -> None:
    point = Point(PRIME, 5)
    free = point.made_up("f", ARGUMENTS, RANDOM)
    point.know("f", np.array([7, 3]), np.array([70, 30]), RANDOM)
    point.know("f", np.array([9, 3]), np.array([90, 31]), RANDOM)
    values = point.made_up("f", ARGUMENTS, RANDOM)
    assert (values[6], values[2], values[8]) == (70, 30, 90)  # what was known first stays
    others = ~np.isin(ARGUMENTS, [3, 7, 9])
    assert np.array_equal(values[others], free[others])
    assert point.known("f", np.array([3, 4]), np.array([-1, -1])).tolist() == [30, -1]
    assert point.known("g", np.array([3]), np.array([-1])).tolist() == [-1]


def test_odds_of_a_polynomial() -> None:
    point = Point(PRIME, 5)
    assert point.odds(Degree(3)) == 3 / (PRIME - 1)
    assert point.odds(Degree(3, 10)) == 3 / (PRIME - 11)
    assert point.odds(Degree(10**10)) == 1
    assert Point(101, 0).odds(Degree(1, 100)) == 1


def test_odds_of_what_is_made_up() -> None:
    """Any two of 10 arguments may be the same, each pair with the odds of their difference."""
    point = Point(PRIME, 5)
    point.made_up("f", ARGUMENTS[:10], Degree(2, 1))
    point.made_up("f", ARGUMENTS[:10], Degree(2, 1))  # the same once more
    assert point.odds(Degree(100)) == (100 + 45 * 3) / (PRIME - 1)
    assert point.odds(Degree(1)) == (1 + 30) / (PRIME - 1)  # one factor can only be lost to the others of its kind
    point.made_up("g", ARGUMENTS[:2], Degree(1, kind=MADE_UP))  # a function of a function
    assert point.odds(Degree(1)) == (1 + 45 * 3 + 1) / (PRIME - 1)
    point.chance += 7
    assert point.odds(Degree(1)) == (1 + 45 * 3 + 1 + 7) / (PRIME - 1)


def test_infinity_has_an_exponential() -> None:
    point = Point(PRIME, 5)
    endless = np.array([point.infinity("-inf")])
    assert point.made_up("exp", endless, RANDOM) == 0
    assert point.has_infinity
