"""Values of uninterpreted functions: the same for the same argument, defined where they are known, and counted."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.errors import Unsupported
from gradcheck.oracles.exact import modular_arithmetic
from gradcheck.oracles.exact.degree import RANDOM, UNINTERPRETED, Degree
from gradcheck.oracles.exact.field_point import (
    FieldPoint,
    as_small_integers,
    integers_between,
    is_piecewise,
    random_integers,
    require_domain,
)
from tests.oracles.exact.small import problem, status

PRIME = modular_arithmetic.PRIMES[0]


def test_numbers_are_small_and_not_0() -> None:
    drawn = as_small_integers(random_integers(3, PRIME, np.random.default_rng(0), (200,)), PRIME)
    assert set(drawn.tolist()) == {-3, -2, -1, 1, 2, 3}


def test_a_stated_domain_is_kept() -> None:
    drawn = as_small_integers(integers_between(-1.5, 2.2, PRIME, np.random.default_rng(0), (200,)), PRIME)
    assert set(drawn.tolist()) == {-1, 0, 1, 2}
    with pytest.raises(Unsupported):
        integers_between(0.1, 0.9, PRIME, np.random.default_rng(0), (2,))


def test_large_residues_are_not_decided() -> None:
    with pytest.raises(Unsupported):
        as_small_integers(np.array([1, PRIME // 3]), PRIME)


def test_domains() -> None:
    require_domain("positive", np.array([1, 5]), PRIME)
    require_domain("nonnegative", np.array([0]), PRIME)
    require_domain("nonzero", np.array([PRIME // 3]), PRIME)
    with pytest.raises(Unsupported):
        require_domain("positive", np.array([1, PRIME - 5]), PRIME)
    with pytest.raises(Unsupported):
        require_domain("unit", np.array([2]), PRIME)


def test_pieces() -> None:
    assert is_piecewise({"exp", ">"})
    assert not is_piecewise({"exp", "sqrt"})


@pytest.mark.parametrize(
    ("graph", "formula"),
    [
        ("x * x", "2 * x * grad(y) * (1 + 2e-11 * (x > 0))"),
        ("x * x", "where(x > 4, 4 * x, 2 * x) * grad(y)"),
        ("x * x", "where(x == round(x), 3 * x, 2 * x) * grad(y)"),
        ("x * x", "2 * x * grad(y) * (1 + (x.sum() > 20))"),
        ("relu6(x)", "grad(y) * (x > 0)"),
        ("clamp(x, -5, 5)", "grad(y)"),
        ("x * x + exp(x)", "(2 * abs(x) + exp(x)) * grad(y)"),
        ("amax(x) * x", "grad(y) * amax(x)"),
    ],
)
def test_what_is_wrong_on_one_side_is_refuted(graph: str, formula: str) -> None:
    assert status(problem({"x": (4,)}, {"y": graph}, seed=(4,)), "x", formula) == "refuted"


@pytest.mark.parametrize(
    ("graph", "formula"),
    [
        ("x * x", "2 * abs(x) * sign(x) * grad(y)"),
        ("relu(x)", "grad(y) * (x > 0) * (x > 0)"),
        ("abs(x)", "grad(y) * x / abs(x)"),
        ("sqrt(x)", "where(x > 0, grad(y) / (2 * y), 7)"),
        ("clamp(x, -5, 5)", "grad(y) * (abs(x) < 5)"),
        ("amax(x) + x", "grad(y) + (x == amax(x)) * grad(y).sum()"),
        ("abs(exp(x) - 1)", "grad(y) * exp(x) * (2 * (x > 0) - 1)"),
    ],
)
def test_what_is_right_is_not(graph: str, formula: str) -> None:
    assert status(problem({"x": (4,)}, {"y": graph}, seed=(4,)), "x", formula) != "refuted"


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
