"""Arrays side by side: aligned, marked, never wider than the terminal."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from gradcheck.reports.tensors import inline_text, is_small, side_by_side, wrong_elements


def show(got: np.ndarray, want: np.ndarray | None, width: int = 80, mask: np.ndarray | None = None) -> list[str]:
    if mask is None and want is not None and got.shape == want.shape:
        mask = np.asarray(got != want)
    lines = side_by_side(got, want, mask, ("core", "torch"), width)
    return [line.plain for line in lines]


def test_a_matrix_of_integers_marks_the_wrong_element() -> None:
    want = np.array([[3700.0, 9950, 8125], [3700, 9950, 8125]])
    got = want.copy()
    got[0, 1] = 12
    assert show(got, want) == [
        "     core (* differs)         torch",
        "[0]  3700    *12   8125       3700   9950   8125",
        "[1]  3700   9950   8125       3700   9950   8125",
    ]


def test_blocks_stand_one_above_the_other_where_they_do_not_fit() -> None:
    want = np.array([[3700.0, 9950, 8125], [3700, 9950, 8125]])
    assert show(want + 1, want, width=30) == [
        "     core",
        "[0]  3701   9951   8126",
        "[1]  3701   9951   8126",
        "     torch",
        "[0]  3700   9950   8125",
        "[1]  3700   9950   8125",
    ]
    assert show(want + 1, want, width=10) == []


def test_digits_suffice_to_see_the_difference() -> None:
    want = np.array([0.5, 1.3, 2.25])
    got = want.copy()
    got[1] *= 1 + 1e-9
    header, line = show(got, want, width=100)
    assert line.split() == ["0.500000000", "*1.300000001", "2.250000000", "0.500000000", "1.300000000", "2.250000000"]
    assert header.split() == ["core", "(*", "differs)", "torch"]


def test_magnitudes_far_apart_are_written_in_powers_of_ten() -> None:
    _, line = show(np.array([1e-9, 1e9]), np.array([1e-9, 2e9]))
    assert line.split() == ["1.000e-09", "*1.000e+09", "1.000e-09", "2.000e+09"]


def test_nan_and_inf_stand_among_numbers() -> None:
    _, line = show(np.array([1.0, np.nan, np.inf]), np.array([1.0, 2.0, -np.inf]))
    assert line.split() == ["1", "*nan", "*inf", "1", "2", "-inf"]


def test_scalars_vectors_and_more_dimensions_are_labelled() -> None:
    assert show(np.array(3.5), np.array(4.0))[1].split() == ["3.5", "4.0"]
    long = show(np.arange(11.0), np.arange(11.0) + 1)
    assert [line.split()[0] for line in long[1:]] == ["[0:]", "[8:]"]
    cube = show(np.zeros((2, 2, 3)), np.ones((2, 2, 3)))
    assert [line.split("]")[0] for line in cube[1:]] == ["[0, 0", "[0, 1", "[1, 0", "[1, 1"]


def test_complex_bool_and_bfloat16_are_shown() -> None:
    assert show(np.array([1 + 2j]), np.array([1 - 2j]))[1].split() == ["1+2j", "1-2j"]
    assert show(np.array([True, False]), np.array([True, True]))[1].split() == ["True", "*False", "True", "True"]
    halves = np.array([1.5, 2.5], dtype=ml_dtypes.bfloat16)
    assert show(halves, halves + halves)[1].split() == ["1.5", "2.5", "3.0", "5.0"]


def test_other_shapes_stand_one_above_the_other_without_marks() -> None:
    lines = show(np.ones((2, 3)), np.zeros((3, 2)))
    assert len(lines) == 7
    assert "*" not in "".join(lines)


def test_no_line_ends_in_a_blank() -> None:
    assert all(line == line.rstrip() for line in show(np.eye(3), np.ones((3, 3))))


@pytest.mark.parametrize(
    ("shape", "small"),
    [((), True), ((8,), True), ((8, 8), True), ((2, 3, 4), True), ((128,), True), ((8, 9), False), ((129,), False),
     ((0, 3), False), ((17, 2), False), ((64, 64), False)],
)  # fmt: skip
def test_what_is_small(shape: tuple[int, ...], small: bool) -> None:
    assert is_small(np.zeros(shape)) is small


def test_nothing_is_not_small() -> None:
    assert not is_small(None)


def test_numbers_in_a_line() -> None:
    assert inline_text(np.array([[1.0, -0.5], [1e-9, 123456.789]])) == "[[1, -0.5], [1e-09, 1.235e+05]]"
    assert inline_text(np.array([1 + 2j, -0.5j])) == "[1+2j, 0-0.5j]"
    assert inline_text(np.array([np.nan, np.inf, True])) == "[nan, inf, 1]"


def test_wrong_elements_of_large_arrays_are_listed_by_index() -> None:
    want = np.arange(100.0).reshape(10, 10)
    got = want.copy()
    got[1, 2], got[9, 9] = -1, 0
    lines = wrong_elements(got, want, got != want, ("core", "torch"), limit=5)
    assert [line.plain for line in lines] == [
        "        core  torch",
        "[1, 2]    -1     12",
        "[9, 9]     0     99",
    ]
    assert len(wrong_elements(got, want, got != want, ("core", "torch"), limit=1)) == 2
