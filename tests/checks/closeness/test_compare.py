"""Comparison of two arrays: what agrees, what does not, and which element is named."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from gradcheck.autograd.modes import quiet
from gradcheck.checks.closeness.compare import (
    DERIVATION,
    all_agree,
    compare,
    derivation_tolerance,
    nearly_equal,
    passed_comparison,
    rounding_tolerance,
)
from gradcheck.checks.closeness.tolerance import ROUNDINGS, Tolerance, base, epsilon
from gradcheck.checks.result import Comparison, Subject
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from tests.reports.conftest import make_failed

SUBJECT = Subject(ClaimKind.GRADIENT, "x")


def check(got: object, want: object, **options: object) -> Comparison:
    want_array = None if want is None else np.asarray(want)
    got_array = None if got is None else np.asarray(got)
    dtype = want_array.dtype if want_array is not None else np.dtype(np.float64)
    return compare(got_array, want_array, base(dtype), SUBJECT, **options)


def test_equal_arrays_pass_and_say_what_they_are() -> None:
    result = check([[1.0, 2.0]], [[1.0, 2.0]])
    assert result.status == "passed"
    assert (result.shape, result.dtype, result.elements, result.mismatched) == ((1, 2), "float64", 2, 0)


def test_many_agree_at_once_where_each_does_alone_and_else_are_looked_at_closely() -> None:
    def agree(*pairs: tuple[object, object], tolerance: Tolerance | None = None) -> bool:
        arrays = [(np.asarray(got), np.asarray(want)) for got, want in pairs]
        with quiet():
            return all_agree(arrays, lambda want: tolerance or base(want.dtype))

    large, single = np.zeros(5_000), np.float32(1)
    fine = [([1.0], [1.0 + 1e-12]), ([[2, 3]], [[2, 3]]), ([single], [single * (1 + 2e-7)]), ([], [])]
    assert agree()
    assert agree(*fine)
    off = [([1.0], [1.0 + 1e-9]), ([2], [3]), ([1.0], [[1.0]]), ([1.0], [single]), ([np.nan], [np.nan])]
    off += [([np.inf], [np.inf]), ([1e-12, 1.0], [2e-12, 1.0]), (large, large)]
    assert [pair for pair in off if agree(*fine, pair)] == []
    assert not agree(*fine, tolerance=Tolerance(1e-10, measures_agreement=True))
    assert passed_comparison(np.ones((1, 2)), SUBJECT) == check([[1.0, 1.0]], [[1.0, 1.0]])


def test_the_worst_element_is_named_with_all_its_errors() -> None:
    result = check([[1.0, 2.0, 4.0], [3.0, 4.0, 6.5]], [[1.0, 2.0, 8.0], [3.0, 4.0, 6.0]])
    assert result.status == "failed"
    assert (result.worst_index, result.got, result.want) == ((0, 2), 4.0, 8.0)
    assert (result.max_abs, result.max_rel, result.mismatched) == (4.0, 0.5, 2)
    assert result.max_ulp == 4.0 / 2**-49  # 8.0 is followed by 8 + 2**-49
    assert result.mask is not None
    assert result.mask.tolist() == [[False, False, True], [False, False, True]]


def test_a_small_gradient_is_never_hidden() -> None:
    want = np.full((3, 3), 1e-12)
    assert check(want * (1 + 1e-3), want).status == "failed"
    assert check(want * (1 + 1e-12), want).status == "passed"
    tiny = np.full(4, 1e-300)
    assert check(tiny * (1 + 1e-9), tiny).status == "failed"


def test_every_element_is_held_to_its_own_size() -> None:
    want = np.array([1e6, 1.0, 1e-12, 0.0])
    assert check(want * (1 + 9e-11), want).status == "passed"
    for index, error in enumerate((2e-4, 2e-10, 2e-22, 5e-324)):
        wrong = want.copy()
        wrong[index] += error
        result = check(wrong, want)
        assert (result.status, result.mismatched, result.worst_index) == ("failed", 1, (index,))


def test_an_absolute_part_is_absolute() -> None:
    want = np.array([1e6, 0.0])
    absolute = Tolerance(0.0, 1e-3)
    assert compare(want + 9e-4, want, absolute, SUBJECT).status == "passed"
    assert compare(want + 2e-3, want, absolute, SUBJECT).status == "failed"
    assert compare(want - 1, np.array([math.inf, 0.0]), absolute, SUBJECT).status == "failed"


def test_an_infinite_element_does_not_widen_the_tolerance_of_others() -> None:
    assert check([math.inf, 1.001], [math.inf, 1.0]).status == "failed"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_non_finite_elements_agree_with_their_like_and_are_counted(value: float) -> None:
    result = check([value, 1.0, value], [value, 1.0, value])
    assert result.status == "passed"
    assert result.notes[0]["count"] == 2


@pytest.mark.parametrize(
    ("got", "want"),
    [(math.nan, 1.0), (1.0, math.nan), (math.inf, 1.0), (1.0, math.inf), (math.inf, -math.inf), (math.nan, math.inf)],
)
def test_non_finite_elements_never_agree_with_anything_else(got: float, want: float) -> None:
    result = check([got, 1.0], [want, 1.0])
    assert result.status == "failed"
    assert result.worst_index == (0,)
    assert result.max_abs == math.inf


def test_none_agrees_with_zeros_with_a_note_and_with_nothing_else() -> None:
    assert check(None, None).status == "passed"
    for got, want in ((None, [0.0, 0.0]), ([0.0, 0.0], None)):
        result = check(got, want)
        assert result.status == "passed"
        assert result.notes[0].kind == "none_agrees_with_zeros"
    missing, extra = check(None, [0.0, 2.0]), check([0.0, 2.0], None)
    assert (missing.status, missing.want, missing.mismatched) == ("failed", 2.0, 1)
    assert (extra.status, extra.got) == ("failed", 2.0)
    assert missing.mismatch == fact("gradient_missing")


def test_nan_is_no_zero() -> None:
    assert check(None, [math.nan]).status == "failed"


def test_shape_and_dtype_come_first() -> None:
    assert check([1.0, 2, 3], [[1.0, 2, 3]]).mismatch == fact("shapes_differ", got=(3,), want=(1, 3))
    assert check(np.ones(2, np.float32), np.ones(2)).mismatch == fact("dtypes_differ", got="float32", want="float64")
    assert check(1.0, [1.0]).status == "failed"


def test_zero_dimensions_and_no_elements() -> None:
    assert check(2.0, 2.0).status == "passed"
    wrong = check(2.0, 3.0)
    assert (wrong.status, wrong.worst_index, wrong.got, wrong.want) == ("failed", (), 2.0, 3.0)
    empty = check(np.zeros((0, 3)), np.zeros((0, 3)))
    assert (empty.status, empty.elements) == ("passed", 0)
    assert check(np.zeros((0, 3)), np.zeros((3, 0))).status == "failed"


def test_integers_and_booleans_are_exact() -> None:
    assert check([1, 2**60], [1, 2**60]).status == "passed"
    result = check([1, 2**60 + 1], [1, 2**60])
    assert (result.status, result.worst_index, result.mismatched) == ("failed", (1,), 1)
    assert check([True, False], [True, True]).status == "failed"


def test_complex_numbers_are_held_to_their_parts_dtype() -> None:
    want = np.array([1 + 2j, 3j])
    assert check(want * (1 + 1e-12j), want).status == "passed"
    result = check(want + np.array([0, 1e-3]), want)
    assert (result.status, result.worst_index, result.want) == ("failed", (1,), 3j)
    single = want.astype(np.complex64)
    assert check(single * np.complex64(1 + 1e-6j), single).status == "passed"
    assert check([complex(1, math.nan)], [complex(1, 2)]).status == "failed"


@pytest.mark.parametrize(
    ("dtype", "within", "beyond"),
    [
        (np.float64, 9e-11, 3e-10),
        (np.float32, 9e-6, 3e-5),
        (np.float16, 2e-3, 6e-3),
        (ml_dtypes.bfloat16, 1.5e-2, 5e-2),
    ],
)
def test_each_dtype_has_its_base_tolerance(dtype: type, within: float, beyond: float) -> None:
    want = np.array([1.0, 0.5]).astype(dtype)
    assert check((want.astype(float) * (1 + within)).astype(dtype), want).status == "passed"
    result = check((want.astype(float) * (1 + beyond)).astype(dtype), want)
    assert result.status == "failed"
    assert result.max_ulp is not None
    assert result.max_ulp >= 1


def test_an_ulp_of_a_half_is_a_halfs() -> None:
    want = np.array([1.0], np.float16)
    assert check(np.array([1.0 + 2**-10 * 8], np.float16), want).max_ulp == 8.0


def test_slack_is_allowed_on_top_and_shown() -> None:
    result = check([1.0, 2.5], [1.0, 2.0], slack=np.array([0.0, 1.0]))
    assert (result.status, result.notes) == ("passed", ())
    assert check([1.5, 2.0], [1.0, 2.0], slack=np.array([0.0, 1.0])).status == "failed"


def test_huge_differences_do_not_warn() -> None:
    assert check([1e308], [-1e308]).status == "failed"
    assert check([1e200, 1e200], [1e200, 1e200]).status == "passed"


def test_what_is_infinitely_wrong_is_so_relatively_too() -> None:
    for got, want in ((1.0, np.inf), (np.nan, 1.0), (1.0, np.nan), (np.inf, -np.inf)):
        assert check([got], [want]).max_rel == np.inf


@pytest.mark.parametrize("bumped", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("towards", [-np.inf, np.inf])
def test_rounding_does_not_choose_the_worst_element(bumped: tuple[int, int], towards: float) -> None:
    """A factor is as wrong everywhere, most of all where numbers are largest: at 0, 1 and at 1, 0 alike."""
    want = np.array([[1.0, 3.0], [3.0, 2.0]])
    got = 1.1 * want
    got[bumped] = np.nextafter(got[bumped], towards)
    assert check(got, want).worst_index == (0, 1)


def test_the_worst_element_is_not_merely_the_first() -> None:
    assert check([1.1, 1.2, 1.0], [1.0, 1.0, 1.0]).worst_index == (1,)
    assert check([np.nan, 1.2, np.inf], [1.0, 1.0, np.inf]).worst_index == (0,)


WANT = np.array([1e-3, -2.0, 5.0])
FLOAT64, FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)


def test_shapes_must_be_the_same() -> None:
    assert not nearly_equal(WANT[:1], WANT)
    assert nearly_equal(WANT, WANT.copy())


@pytest.mark.parametrize(
    ("got", "want", "agrees"),
    [
        (np.nan, np.nan, True),
        (np.nan, 1.0, False),
        (1.0, np.nan, False),
        (np.inf, np.inf, True),
        (np.inf, -np.inf, False),
        (1.0, np.inf, False),
        (np.inf, 1.0, False),
    ],
)
def test_what_is_not_finite_agrees_with_itself_alone(got: float, want: float, agrees: bool) -> None:
    assert nearly_equal(np.array([got]), np.array([want]), Tolerance(1e-2, 1e-2)) == agrees


def test_a_derivation_may_lose_a_part_of_the_largest_element() -> None:
    part = DERIVATION[8] * 5.0
    assert derivation_tolerance(WANT) == Tolerance(0.0, part)
    assert nearly_equal(WANT + 0.9 * part, WANT)
    assert not nearly_equal(WANT + 1.1 * part, WANT)
    assert derivation_tolerance(WANT.astype(np.float32)).atol == DERIVATION[4] * 5.0


def test_integers_and_booleans_must_be_equal() -> None:
    assert nearly_equal(np.array([1, 2]), np.array([1, 2]))
    assert not nearly_equal(np.array([1, 2]), np.array([1, 3]))
    assert not nearly_equal(np.array([True]), np.array([False]))


def test_rounding_is_relative_to_each_element_and_to_what_cancels() -> None:
    known = rounding_tolerance(FLOAT64, scale=100.0)
    assert known == Tolerance(base(FLOAT64).rtol, ROUNDINGS * epsilon(FLOAT64) * 100.0)
    assert nearly_equal(WANT + 0.9 * known.atol, WANT, known)
    assert not nearly_equal(WANT + np.array([1e-9, 0, 0]), WANT, known)


def test_the_coarser_dtype_decides() -> None:
    assert rounding_tolerance(FLOAT64, FLOAT32, scale=1.0) == rounding_tolerance(FLOAT32, scale=1.0)
    wider = rounding_tolerance(FLOAT32, scale=1.0, margin=10.0)
    assert wider.rtol == pytest.approx(10 * base(FLOAT32).rtol)


def test_slack_is_added_for_each_element() -> None:
    slack = np.array([0.1, 0.0, 0.0])
    assert nearly_equal(WANT + slack, WANT, base(FLOAT64), slack)
    assert not nearly_equal(WANT + slack[::-1], WANT, base(FLOAT64), slack)


def test_a_comparison_has_a_tolerance() -> None:
    c = make_failed([1.0], [2.0])
    assert Tolerance.of(c) == Tolerance(c.rtol or 0.0, c.atol or 0.0)
