"""Signs, constant factors, means for sums."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradcheck.checks.failures.diagnosis import scale
from gradcheck.checks.failures.diagnosis.evidence import Evidence
from gradcheck.facts import Fact, fact
from tests.checks.failures.diagnosis.evidence import fitting, guessed, of_rule, rule

WANT = np.random.default_rng(11).standard_normal((5, 7))


def test_a_wrong_sign() -> None:
    assert fitting(scale.sign, Evidence(-WANT, WANT)) == {"sign": fact("wrong_sign")}
    assert guessed(scale.sign, Evidence(0 * WANT, 0 * WANT)) == []
    assert guessed(scale.sign, Evidence(None, WANT)) == []


@pytest.mark.parametrize(
    ("constant", "expected"),
    [
        (2, fact("off_by_factor", factor="2")),
        (-0.5, fact("off_by_factor", factor="-1/2")),
        (1 / 3, fact("off_by_factor", factor="1/3")),
        (math.pi, fact("off_by_factor", factor="pi")),
        (-1 / math.log(2), fact("off_by_factor", factor="-1/log(2)")),
        (11, fact("off_by_factor", factor="11")),
        (35, fact("off_by_count", factor="35", n=35, count=fact("elements_of", of_result=False))),
        (-1 / 5, fact("off_by_count", factor="-1/5", n=5, count=fact("size_of_axis", axis=0, of_result=False))),
    ],
)
def test_a_constant_factor_by_its_name(constant: float, expected: Fact) -> None:
    (found,) = fitting(scale.factor, Evidence(constant * WANT, WANT)).values()
    assert found == expected


def test_a_constant_without_a_name_is_a_number() -> None:
    (found,) = fitting(scale.factor, Evidence(1.2345 * WANT, WANT)).values()
    assert found["factor"] == pytest.approx(1.2345, rel=1e-12)
    want = WANT + 1j
    (turned,) = fitting(scale.factor, Evidence((2 + 1j) * want, want)).values()
    assert turned["factor"] == pytest.approx(2 + 1j)


def test_elements_but_for_an_axis_and_those_of_the_result() -> None:
    cube = np.random.default_rng(12).standard_normal((3, 5, 7))
    (found,) = fitting(scale.factor, Evidence(cube / 21, cube)).values()
    assert found["count"] == fact("elements_but_for_axis", axis=1, of_result=False)
    known = rule("{inputs: {x: 'randn(3)'}, graph: {out: 'outer(x, ones(11))'}, backward: {out: 'randn(3, 11)'}}")
    want = known.wants[0]
    assert want is not None
    (of_result,) = fitting(scale.factor, of_rule(known, want / 11)).values()
    assert of_result["count"] == fact("elements_but_for_axis", axis=0, of_result=True)


def test_two_is_a_constant_in_its_own_right() -> None:
    (found,) = fitting(scale.factor, Evidence(np.array([3.0, -8.0]), np.array([1.5, -4.0]))).values()
    assert found == fact("off_by_factor", factor="2")


def test_the_key_is_the_constant_to_the_digits_that_count() -> None:
    one = guessed(scale.factor, Evidence(1.5 * WANT * (1 + 1e-13), WANT))
    other = guessed(scale.factor, Evidence(1.5 * WANT * (1 - 1e-13), WANT))
    assert one == other == [1.5]


@pytest.mark.parametrize("got", [WANT, -WANT, 0 * WANT, WANT[:1], None])
def test_what_is_no_factor(got: np.ndarray | None) -> None:
    assert guessed(scale.factor, Evidence(got, WANT)) == []


def test_the_ratio_leaves_out_what_is_not_finite() -> None:
    got, want = 3 * WANT, WANT.copy()
    want[0, 0] = np.nan
    assert scale.ratio(Evidence(got, want)) == pytest.approx(3)
    assert scale.ratio(Evidence(got, 0 * WANT)) is None


def test_a_mean_for_a_sum() -> None:
    known = rule("{inputs: {x: 'randn(3, 4)'}, graph: {out: 'x.sum(dim=1)'}, backward: {out: 'randn(3)'}}")
    want = known.wants[0]
    assert want is not None
    found = fitting(scale.mean_for_sum, of_rule(known, want / 4))
    assert found == {4: fact("mean_of_added", n=4, op="sum")}
    added = rule("{inputs: {x: 'randn(3, 4)', b: 'randn(4)'}, graph: {out: x + b}, backward: {out: 'randn(3, 4)'}}", 1)
    want = added.wants[1]
    assert want is not None
    assert fitting(scale.mean_for_sum, of_rule(added, want / 3)) == {3: fact("mean_of_broadcast", n=3)}
    assert guessed(scale.mean_for_sum, of_rule(rule("{inputs: {x: 2}, graph: {out: exp(x)}}"), 1.0)) == []


@pytest.mark.parametrize("rounding", [0.0, 2.0**-52, -(2.0**-50)])
@pytest.mark.parametrize("constant", [0.0, 1.0, -1.0])
def test_what_is_known_by_other_names_is_no_factor_however_it_is_rounded(constant: float, rounding: float) -> None:
    """Which bits the last ones are, is the processor's affair; whether a mistake is looked for is not."""
    assert guessed(scale.factor, Evidence((constant + rounding) * WANT, WANT)) == []


def test_a_difference_that_is_orthogonal_is_no_factor() -> None:
    want = np.array([1.0, 2.0, -3.0])
    got = want + np.array([2.0, -1.0, 0.0]) + 1e-15
    assert scale.ratio(Evidence(got, want)) == pytest.approx(1, rel=1e-14)
    assert guessed(scale.factor, Evidence(got, want)) == []
