"""The right shape with other numbers: signs, factors, precisions, integers, NaN."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from gradcheck.autograd.dtypes import BFLOAT16
from gradcheck.checks.failures.diagnosis import number_mistakes
from gradcheck.checks.failures.diagnosis.catalogue import Evidence
from gradcheck.facts import Fact, fact
from tests.checks.failures.diagnosis.evidence import fitting, guessed, of_rule, rule

WANT = np.random.default_rng(11).standard_normal((5, 7))


def test_a_wrong_sign() -> None:
    assert fitting(number_mistakes.sign, Evidence(-WANT, WANT)) == {"sign": fact("wrong_sign")}
    assert guessed(number_mistakes.sign, Evidence(0 * WANT, 0 * WANT)) == []
    assert guessed(number_mistakes.sign, Evidence(None, WANT)) == []


@pytest.mark.parametrize(
    ("constant", "expected"),
    [
        (2, fact("off_by_factor", factor="2")),
        (-0.5, fact("off_by_factor", factor="-1/2")),
        (1 / 3, fact("off_by_factor", factor="1/3")),
        (math.pi, fact("off_by_factor", factor="pi")),
        (-1 / math.log(2), fact("off_by_factor", factor="-1/log(2)")),
        (math.sqrt(2 * math.pi), fact("off_by_factor", factor="sqrt(2 * pi)")),
        (11, fact("off_by_factor", factor="11")),
        (1 + 2.0**-25, fact("off_by_rounded_number", factor=1 + 2.0**-25, dtype="float32")),
        (35, fact("off_by_count", factor="35", n=35, count=fact("elements_of", of_result=False))),
        (-1 / 5, fact("off_by_count", factor="-1/5", n=5, count=fact("size_of_axis", axis=0, of_result=False))),
    ],
)
def test_a_constant_factor_by_its_name(constant: float, expected: Fact) -> None:
    (found,) = fitting(number_mistakes.factor, Evidence(constant * WANT, WANT)).values()
    assert found == expected


def test_a_constant_without_a_name_is_a_number() -> None:
    (found,) = fitting(number_mistakes.factor, Evidence(1.2345 * WANT, WANT)).values()
    assert found["factor"] == pytest.approx(1.2345, rel=1e-12)
    want = WANT + 1j
    (turned,) = fitting(number_mistakes.factor, Evidence((2 + 1j) * want, want)).values()
    assert turned["factor"] == pytest.approx(2 + 1j)


def test_elements_but_for_an_axis_and_those_of_the_result() -> None:
    cube = np.random.default_rng(12).standard_normal((3, 5, 7))
    (found,) = fitting(number_mistakes.factor, Evidence(cube / 21, cube)).values()
    assert found["count"] == fact("elements_but_for_axis", axis=1, of_result=False)
    known = rule("{inputs: {x: 'randn(3)'}, graph: {out: 'outer(x, ones(11))'}, backward: {out: 'randn(3, 11)'}}")
    want = known.right_gradients[0]
    assert want is not None
    (of_result,) = fitting(number_mistakes.factor, of_rule(known, want / 11)).values()
    assert of_result["count"] == fact("elements_but_for_axis", axis=0, of_result=True)


def test_two_is_a_constant_in_its_own_right() -> None:
    (found,) = fitting(number_mistakes.factor, Evidence(np.array([3.0, -8.0]), np.array([1.5, -4.0]))).values()
    assert found == fact("off_by_factor", factor="2")


def test_the_key_is_the_constant_to_the_digits_that_count() -> None:
    one = guessed(number_mistakes.factor, Evidence(1.5 * WANT * (1 + 1e-13), WANT))
    other = guessed(number_mistakes.factor, Evidence(1.5 * WANT * (1 - 1e-13), WANT))
    assert one == other == [1.5]


@pytest.mark.parametrize("got", [WANT, -WANT, 0 * WANT, WANT[:1], None])
def test_what_is_no_factor(got: np.ndarray | None) -> None:
    assert guessed(number_mistakes.factor, Evidence(got, WANT)) == []


def test_the_ratio_leaves_out_what_is_not_finite() -> None:
    got, want = 3 * WANT, WANT.copy()
    want[0, 0] = np.nan
    assert number_mistakes.mean_ratio(Evidence(got, want)) == pytest.approx(3)
    assert number_mistakes.mean_ratio(Evidence(got, 0 * WANT)) is None


def test_a_mean_for_a_sum() -> None:
    known = rule("{inputs: {x: 'randn(3, 4)'}, graph: {out: 'x.sum(dim=1)'}, backward: {out: 'randn(3)'}}")
    want = known.right_gradients[0]
    assert want is not None
    found = fitting(number_mistakes.mean_for_sum, of_rule(known, want / 4))
    assert found == {4: fact("mean_of_added", n=4, op="sum")}
    added = rule("{inputs: {x: 'randn(3, 4)', b: 'randn(4)'}, graph: {out: x + b}, backward: {out: 'randn(3, 4)'}}", 1)
    want = added.right_gradients[1]
    assert want is not None
    assert fitting(number_mistakes.mean_for_sum, of_rule(added, want / 3)) == {3: fact("mean_of_broadcast", n=3)}
    assert guessed(number_mistakes.mean_for_sum, of_rule(rule("{inputs: {x: 2}, graph: {out: exp(x)}}"), 1.0)) == []


@pytest.mark.parametrize("rounding", [0.0, 2.0**-52, -(2.0**-50)])
@pytest.mark.parametrize("constant", [0.0, 1.0, -1.0])
def test_what_is_known_by_other_names_is_no_factor_however_it_is_rounded(constant: float, rounding: float) -> None:
    """Which bits the last ones are, is the processor's affair; whether a mistake is looked for is not."""
    assert guessed(number_mistakes.factor, Evidence((constant + rounding) * WANT, WANT)) == []


def test_a_difference_that_is_orthogonal_is_no_factor() -> None:
    want = np.array([1.0, 2.0, -3.0])
    got = want + np.array([2.0, -1.0, 0.0]) + 1e-15
    assert number_mistakes.mean_ratio(Evidence(got, want)) == pytest.approx(1, rel=1e-14)
    assert guessed(number_mistakes.factor, Evidence(got, want)) == []


# Precisions, integers, NaN ------------------------------------------------------------------------------

TENS = np.random.default_rng(9).standard_normal((2, 3)) * 10
EXP = "{inputs: {x: [0.5, 1.5, 2.5]}, graph: {out: exp(x)}, backward: {out: [1, 1, 1]}}"


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float16), BFLOAT16])
def test_a_lower_precision_on_the_way(dtype: np.dtype) -> None:
    name = dtype.name
    exact = Evidence(TENS.astype(dtype).astype(float), TENS)
    assert fitting(number_mistakes.lower_precision, exact) == {name: fact("computed_in_dtype", dtype=name, exact=True)}
    near = Evidence(exact.got_or_zeros * (1 + 2.0**-45), TENS)
    (guess,) = number_mistakes.lower_precision(near)
    assert (guess.fact, guess.is_proof) == (fact("computed_in_dtype", dtype=name, exact=False), False)


def test_a_lower_dtype_of_the_gradient_itself() -> None:
    found = fitting(number_mistakes.lower_precision, Evidence(TENS.astype(np.float32), TENS))
    assert found == {"itself": fact("dtype_is", got="float32", want="float64")}
    assert guessed(number_mistakes.lower_precision, Evidence(2 * TENS.astype(np.float32), TENS)) == []


def test_numbers_of_a_lower_precision_may_all_be_too_large() -> None:
    """By chance, where there are but a few."""
    want = np.array([1.3, 0.7, 2.9])
    above = np.nextafter(want.astype(np.float32), np.float32(9)).astype(np.float64)
    assert guessed(number_mistakes.lower_precision, Evidence(above, want))


def test_complex_numbers_are_rounded_part_by_part() -> None:
    want = TENS + 1j * TENS[::-1]
    found = fitting(number_mistakes.lower_precision, Evidence(want.astype(np.complex64).astype(complex), want))
    assert found == {"float32": fact("computed_in_dtype", dtype="float32", exact=True)}


def test_nothing_that_is_added_where_the_result_is_0_is_a_lower_precision() -> None:
    x = np.array([1.0, 2.0, 0.3])
    for added in (1e-5, 1e-6):
        assert guessed(number_mistakes.lower_precision, Evidence(np.log(x + added), np.log(x))) == []


def test_what_is_exact_or_far_off_is_no_lower_precision() -> None:
    assert guessed(number_mistakes.lower_precision, Evidence(TENS, TENS)) == []
    assert guessed(number_mistakes.lower_precision, Evidence(1.5 * TENS, TENS)) == []


def test_what_is_exact_but_for_a_few_is_no_lower_precision() -> None:
    """A relu that passes 1e-6 where its argument is negative."""
    want = np.array([0.3, 0.0, 1.7, 0.0, 2.9])
    for leak in (1e-6, 2.0**-20):
        assert guessed(number_mistakes.lower_precision, Evidence(want + leak * (want == 0), want)) == []
    few = TENS.copy()
    few[0, 0] *= 1 + 1e-6
    assert guessed(number_mistakes.lower_precision, Evidence(few, TENS)) == []


def test_a_factor_near_one_is_no_lower_precision() -> None:
    assert guessed(number_mistakes.lower_precision, Evidence(TENS * (1 + 1e-6), TENS)) == []


@pytest.mark.parametrize("how", ["trunc", "floor", "rint"])
def test_a_result_rounded_to_integers(how: str) -> None:
    got = getattr(np, how)(TENS)
    found = fitting(number_mistakes.truncated_result, Evidence(got, TENS))
    assert found == {how: fact("rounded_to_integers", how=how, dtype="")}
    integers = fitting(number_mistakes.truncated_result, Evidence(got.astype(int), TENS))
    assert integers == {how: fact("rounded_to_integers", how=how, dtype="int64")}


def test_zeros_are_no_result_rounded_to_integers() -> None:
    small = np.abs(np.tanh(WANT)) / 4
    assert guessed(number_mistakes.truncated_result, Evidence(0 * small, small)) == []


def test_arguments_and_incoming_gradients_without_their_fractions() -> None:
    known = rule(EXP)
    assert known.incoming is not None
    argument = known.incoming * np.exp([0, 1, 2])
    found = fitting(number_mistakes.truncated_arguments, of_rule(known, argument))
    assert found == {0: fact("argument_truncated", position=0)}
    larger = replace(known, cotangents=(4 * known.incoming,))
    found = fitting(
        number_mistakes.truncated_arguments, of_rule(larger, np.trunc(4 * known.incoming) * np.exp(known.tensor))
    )
    assert found == {"incoming": fact("incoming_truncated")}


def test_where_a_nan_is_born() -> None:
    got = TENS.copy()
    got[1, 2] = np.nan
    assert fitting(number_mistakes.new_nan, Evidence(got, TENS)) == {
        "nan": fact("nan_appears", is_nan=True, index=(1, 2))
    }
    known = rule(EXP)
    found = fitting(number_mistakes.new_nan, of_rule(known, [1.0, np.inf, 1.0]))
    assert found == {"nan": fact("nan_of_rule", is_nan=False, op="exp", index=(1,), argument=1.5)}
    assert guessed(number_mistakes.new_nan, Evidence(got, got)) == []


def test_a_constant_that_is_stated_may_be_whole() -> None:
    minus_ones = np.full(3, -1.0)
    stated = Evidence(minus_ones, np.full(3, -0.3), is_stated=True)
    assert fitting(number_mistakes.truncated_result, stated) == {}
