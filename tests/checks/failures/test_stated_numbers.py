"""Stated numbers: rounded, or wrong because of a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.checks.failures.stated_numbers import rounding_rtol
from gradcheck.checks.scheduling.run import run
from gradcheck.facts import fact
from tests.checks.failures.test_accumulation_faults import judged
from tests.from_text import case_of
from tests.reports.conftest import make_failed

_STATED = "inputs: {a: [1, 2]}\ngraph: {p: a * a, q: p * a}\nbackward: {q: [1, 1]}\nexpected: {a: [3, 12]}\n"


@pytest.mark.parametrize(
    ("got", "want", "allows"),
    [
        ([4.481689, 12.182494], [4.4817, 12.1825], "1e-5"),
        ([18.0140], [18.01], "1e-3"),
        ([1.0, 2.00004], [1.0, 2.0], "1e-4"),
        ([1234.4], [1234.0], "1e-3"),
        ([4.481689, 12.182494], [4.4817, 12.1835], ""),  # the last digit is another
        ([1.4], [1.0], ""),  # too far off to be told from a mistake
        ([np.nan], [1.0], ""),
    ],
)
def test_what_allows_for_it(got: Any, want: Any, allows: str) -> None:
    assert rounding_rtol(make_failed(got, want, what="expected")) == allows


def test_it_is_told_of_gradients_and_of_values() -> None:
    text = "{inputs: {x: [1.5, 2.5]}, graph: {z: exp(x).sum()}, values: {z: 16.66}, expected: {x: [4.4817, 12.1825]}}"
    (case,) = run([case_of(text)]).cases
    told = [d.message for c in case.comparisons if c.status == "failed" for d in c.diagnoses]
    assert set(told) == {fact("numbers_are_rounded", rtol="1e-3"), fact("numbers_are_rounded", rtol="1e-5")}


def test_stated_numbers_follow_from_the_gradient_that_misses_them() -> None:
    found = judged("Overwrites", _STATED)
    stated = [c for c in found.comparisons if c.what == "expected" and c.status == "failed"]
    assert stated
    assert all(c.consequence_of for c in stated)


@pytest.mark.parametrize(
    ("x", "entry", "stated"),
    [
        (".inf", "3 * x", ".nan"),  # differences converge nowhere there
        ("1e308", "10 * x", ".nan"),
        ("1e200", "x * x", ".nan"),
        ("1e-300", "x * x", "0"),  # a complex step underflows
        ("1", "1e-310 * x", "0"),
        ("700", "exp(-x)", "0"),
        ("0.0", "log(x)", "7"),  # any number is within its bar there
        ("0.0", "rsqrt(x)", "7"),
        ("-1.0", "x / (1 + x)", "7"),
        ("1e15", "sin(x)", "0"),  # differences see noise around a constant
        ("1e12", "tan(x)", "0"),
        ("1e-200", "(x * exp(abs(x)) * x)", "0"),  # differences do
    ],
)
def test_an_oracle_without_an_answer_confirms_no_number(x: str, entry: str, stated: str) -> None:
    text = f"{{inputs: {{x: {x}}}, graph: {{z: {entry}}}, expected: {{x: {stated}}}}}"
    assert run([case_of(text)]).cases[0].status == "failed"
