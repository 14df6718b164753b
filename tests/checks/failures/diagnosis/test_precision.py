"""Lower precisions, integers, NaN."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradcheck.autograd.dtypes import BFLOAT16
from gradcheck.checks.failures.diagnosis import precision
from gradcheck.checks.failures.diagnosis.evidence import Evidence
from gradcheck.facts import fact
from tests.checks.failures.diagnosis.evidence import fitting, guessed, of_rule, rule

WANT = np.random.default_rng(9).standard_normal((2, 3)) * 10
EXP = "{inputs: {x: [0.5, 1.5, 2.5]}, graph: {out: exp(x)}, backward: {out: [1, 1, 1]}}"


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float16), BFLOAT16])
def test_a_lower_precision_on_the_way(dtype: np.dtype) -> None:
    name = dtype.name
    exact = Evidence(WANT.astype(dtype).astype(float), WANT)
    assert fitting(precision.lower_precision, exact) == {name: fact("computed_in_dtype", dtype=name, exact=True)}
    near = Evidence(exact.arrived * (1 + 2.0**-45), WANT)
    (guess,) = precision.lower_precision(near)
    assert (guess.fact, guess.sure) == (fact("computed_in_dtype", dtype=name, exact=False), False)


def test_a_lower_dtype_of_the_gradient_itself() -> None:
    found = fitting(precision.lower_precision, Evidence(WANT.astype(np.float32), WANT))
    assert found == {"itself": fact("dtype_is", got="float32", want="float64")}
    assert guessed(precision.lower_precision, Evidence(2 * WANT.astype(np.float32), WANT)) == []


def test_complex_numbers_are_rounded_part_by_part() -> None:
    want = WANT + 1j * WANT[::-1]
    found = fitting(precision.lower_precision, Evidence(want.astype(np.complex64).astype(complex), want))
    assert found == {"float32": fact("computed_in_dtype", dtype="float32", exact=True)}


def test_what_is_exact_or_far_off_is_no_lower_precision() -> None:
    assert guessed(precision.lower_precision, Evidence(WANT, WANT)) == []
    assert guessed(precision.lower_precision, Evidence(1.5 * WANT, WANT)) == []


@pytest.mark.parametrize("how", ["trunc", "floor", "rint"])
def test_a_result_rounded_to_integers(how: str) -> None:
    got = getattr(np, how)(WANT)
    found = fitting(precision.truncated_result, Evidence(got, WANT))
    assert found == {how: fact("rounded_to_integers", how=how, dtype="")}
    integers = fitting(precision.truncated_result, Evidence(got.astype(int), WANT))
    assert integers == {how: fact("rounded_to_integers", how=how, dtype="int64")}


def test_arguments_and_incoming_gradients_without_their_fractions() -> None:
    known = rule(EXP)
    assert known.incoming is not None
    argument = known.incoming * np.exp([0, 1, 2])
    found = fitting(precision.truncated_arguments, of_rule(known, argument))
    assert found == {0: fact("argument_truncated", position=0)}
    larger = replace(known, cotangents=(4 * known.incoming,))
    found = fitting(precision.truncated_arguments, of_rule(larger, np.trunc(4 * known.incoming) * np.exp(known.tensor)))
    assert found == {"incoming": fact("incoming_truncated")}


def test_where_a_nan_is_born() -> None:
    got = WANT.copy()
    got[1, 2] = np.nan
    assert fitting(precision.born, Evidence(got, WANT)) == {"nan": fact("nan_appears", is_nan=True, index=(1, 2))}
    known = rule(EXP)
    found = fitting(precision.born, of_rule(known, [1.0, np.inf, 1.0]))
    assert found == {"nan": fact("nan_of_rule", is_nan=False, op="exp", index=(1,), argument=1.5)}
    assert guessed(precision.born, Evidence(got, got)) == []
