"""Incoming gradients of ops alone."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.claims.cotangents import NormalPool, operations_of
from tests.checks.build import point_of

CHAIN = "{inputs: {x: [[1.0, 2.0], [3.0, 4.0]], w: [[2.0, 0.0], [1.0, 1.0]]}, graph: {y: x @ w, h: tanh(y)}}"


def test_cotangents_are_random_without_symmetry_and_the_same_each_time() -> None:
    applications = point_of(CHAIN).applications
    first, again = operations_of(applications, 3), operations_of(applications, 3)
    (cotangent,) = first[0].cotangents
    assert cotangent is not None
    assert cotangent.shape == (2, 2)
    assert not np.array_equal(cotangent, cotangent.T)
    assert np.array_equal(cotangent, again[0].cotangents[0])  # type: ignore[arg-type]
    assert not np.array_equal(cotangent, operations_of(applications, 4)[0].cotangents[0])  # type: ignore[arg-type]


def test_signs_are_not_those_of_an_operand_with_a_kink() -> None:
    """A mask of the incoming gradient would pass for one of the operand."""
    graph = "{inputs: {x: [1.0, -2.0, 3.0]}, graph: {y: relu(x), z: tanh(x)}}"
    scalar = point_of("{inputs: {x: 2.0}, graph: {y: relu(x)}}").applications
    for seed in range(40):
        (number,) = operations_of(scalar, seed)[0].cotangents
        assert type(number) is np.ndarray
        assert number < 0
        kinked, smooth = (one.cotangents[0] for one in operations_of(point_of(graph).applications, seed))
        assert kinked is not None
        assert smooth is not None
        assert (kinked > 0).tolist() != [True, False, True]
    signs = [(operations_of(point_of(graph).applications, seed)[1].cotangents[0] > 0).tolist() for seed in range(40)]  # type: ignore[operator]
    assert [True, False, True] in signs  # elsewhere they may be


def test_a_large_cotangent_is_drawn_on_its_own_and_a_complex_one_has_both_parts() -> None:
    large = operations_of(point_of("{inputs: {x: 'randn(100, 100)'}, graph: {y: x * 2}}").applications, 0)
    assert large[0].cotangents[0] is not None
    assert large[0].cotangents[0].shape == (100, 100)
    z = operations_of(point_of("{dtype: complex128, inputs: {x: 'randn(3)'}, graph: {y: x * x}}").applications, 0)
    assert np.all(z[0].cotangents[0].imag != 0)  # type: ignore[union-attr]


def test_numbers_come_in_turn_and_the_same_for_a_seed() -> None:
    first, second = NormalPool(2).draw((2, 3)), NormalPool(2).draw((6,))
    assert np.array_equal(first.ravel(), second)
    assert not np.array_equal(first, NormalPool(5).draw((2, 3)))
    assert NormalPool((1 << 14) * 977 - 1).draw((3, 3)).shape == (3, 3)  # from near the end of the pool
