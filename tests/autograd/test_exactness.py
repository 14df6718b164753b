"""Which results are exact: no digit was lost."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.exactness import adds_exactly, is_exact


@pytest.mark.parametrize(
    ("ufunc", "args", "exact"),
    [
        (np.add, (1.0, 2.0), True),
        (np.add, (1.0, 1e-17), False),
        (np.add, (0.1, 0.2), False),
        (np.subtract, (0.3, 0.2), True),  # numbers within a factor of two of each other (Sterbenz)
        (np.multiply, (3.0, 0.25), True),
        (np.multiply, (1 / 3, 3.0), False),  # it comes to 1, and is not
        (np.square, (1.5,), True),
        (np.true_divide, (3.0, 4.0), True),
        (np.true_divide, (1.0, 3.0), False),
        (np.true_divide, (1e-5, 1e-5), False),  # by a reciprocal it were not
        (np.multiply, (0.3, 2.0), False),
        (np.reciprocal, (8.0,), True),
        (np.sqrt, (2.25,), True),
        (np.sqrt, (2.0,), False),
        (np.power, (3.0, 4.0), True),
        (np.power, (1.1, 2.0), False),
        (np.power, (4.0, 0.5), False),  # by luck, if at all
        (np.exp, (0.0,), True),
        (np.exp, (1.0,), False),
        (np.tanh, (20.0,), False),  # it comes to 1, and is not
    ],
)
def test_elementwise(ufunc: np.ufunc, args: tuple[float, ...], exact: bool) -> None:
    arrays = [np.array([value]) for value in args]
    assert is_exact(ufunc, arrays, ufunc(*arrays)).tolist() == [exact]


def test_every_element_by_itself() -> None:
    a, b = np.array([[1.0], [1e-17]]), np.array([1.0, 2.0])
    assert is_exact(np.add, [a, b], a + b).tolist() == [[True, True], [False, False]]


def test_complex_numbers_by_their_digits() -> None:
    assert is_exact(np.multiply, [], np.array([1 + 2j, 0.1 + 1j])).tolist() == [True, False]


def test_sums_of_whole_numbers_are_exact_up_to_the_last_digit() -> None:
    whole = np.arange(10.0)
    assert adds_exactly(10, [whole])
    assert adds_exactly(10, [whole, 0.25 * whole])
    assert adds_exactly(10, [np.arange(10)])  # integers
    assert not adds_exactly(10, [whole + 0.1])
    assert not adds_exactly(2, [np.array([2.0**60, 1.0])])
    assert not adds_exactly(2, [np.array([np.inf, 1.0])])
    assert not adds_exactly(1, [np.array([0.1])])  # another way to the sum of one may round
    assert not adds_exactly(2, [np.array([2.0**10, 2.0**-10], np.float32)])
    assert adds_exactly(2, [np.array([2.0**10, 2.0**-10])])


def test_products_with_one_number_are_as_exact_as_those_with_many() -> None:
    generator = np.random.default_rng(0)
    drawn = [generator.standard_normal(20), generator.integers(-9, 9, 20), generator.integers(1, 99, 20) * 2.0**-40]
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 2.0**-1030, 1e308, 1 / 3, 2.0**53 - 1, 3.0**33]
    numbers = np.concatenate([*drawn, special])
    with np.errstate(all="ignore"):
        for number in numbers:
            many = is_exact(np.multiply, [numbers, np.full(numbers.shape, number)], numbers * number)
            assert np.array_equal(is_exact(np.multiply, [numbers, np.asarray(number)], numbers * number), many)
            assert np.array_equal(is_exact(np.multiply, [np.asarray(number), numbers], number * numbers), many)
