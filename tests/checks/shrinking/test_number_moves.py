"""Smaller sizes, simpler numbers, a plain dtype."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.shrinking.number_moves import count_up, integers, plain_dtype, simpler_numbers, smaller_sizes
from tests.checks.shrinking.build import pinned, shapes


def test_equal_sizes_shrink_together() -> None:
    case = pinned("{inputs: {a: 'randn(4, 5)', b: 'randn(5, 4)'}, graph: {c: a @ b, d: c.sum()}}")
    found = [shapes(smaller) for smaller in smaller_sizes(case)]
    assert {"a": (4, 1), "b": (1, 4)} in found
    assert {"a": (1, 5), "b": (5, 1)} in found


def test_sizes_with_names_follow() -> None:
    case = pinned("{dims: {n: 4, m: 3}, inputs: {a: 'randn(n, m)'}, graph: {d: a.sum()}}")
    found = [(shapes(smaller)["a"], dict(smaller.dims)) for smaller in smaller_sizes(case)]
    assert ((1, 3), {"n": 1, "m": 3}) in found
    assert ((4, 2), {"n": 4, "m": 2}) in found


def test_numbers_become_small_and_round_and_only_then() -> None:
    found = [np.asarray(c.inputs["x"].array).tolist() for c in simpler_numbers(pinned(
        "{inputs: {x: [1.23456, 2.5]}, graph: {y: x.sum()}}"
    ))]  # fmt: skip
    assert found == [[1, 2], [1, 1], [1, 2], [1.2, 2.5], [1.23, 2.5]]
    assert list(simpler_numbers(pinned("{inputs: {x: [3, 2]}, graph: {y: x.sum()}}"))) == []


def test_counting_starts_anew_after_nine() -> None:
    assert count_up(np.zeros((3, 4), np.float32)).ravel().tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3]
    assert count_up(np.zeros(2, np.float32)).dtype == np.float32


def test_whole_numbers_lose_their_decimal_point_where_it_means_nothing() -> None:
    case = pinned("{inputs: {x: [1, 2], w: [0.5, 2]}, constants: {c: [1.0, 2.0]}, graph: {y: (x * w * c).sum()}}")
    (found,) = integers(case)
    assert np.asarray(found.inputs["x"].array).dtype == np.int64


def test_other_floats_become_doubles_complex_numbers_stay() -> None:
    (found,) = plain_dtype(pinned("{dtype: float16, inputs: {x: [1, 2]}, graph: {y: x.sum()}}"))
    assert (found.dtype, np.asarray(found.inputs["x"].array).dtype) == ("float64", np.float64)
    assert list(plain_dtype(pinned("{dtype: complex64, inputs: {x: [1, 2]}, graph: {y: x.sum()}, backward: y}"))) == []
