"""What rounding makes of code."""

from __future__ import annotations

from gradcheck.checks.scheduling.run import run
from tests.engines.implementation import functions
from tests.engines.implementation.build import TANH, with_code

VARIANCE = 'inputs: {x: "randn(3, 6) + 30"}\ngraph: {y: "var(x, dim=1, unbiased=False)"}'


def test_a_naive_variance_rounds_more_and_is_right() -> None:
    (found,) = run(with_code(VARIANCE, functions.naive_variance, dtypes=("float32",)), allow_code=True).cases
    assert found.status == "passed"
    assert any(c.has_note("own_rounding") for c in found.comparisons)


def test_a_mistake_is_no_rounding() -> None:
    wrong = with_code(VARIANCE, lambda x: functions.naive_variance(x) * (1 + 1e-4), dtypes=("float32",))
    (found,) = run(wrong, allow_code=True).cases
    assert found.status == "failed"


def test_nor_is_computing_in_less_precision() -> None:
    (found,) = run(with_code(TANH, functions.narrow), allow_code=True).cases
    assert found.status == "failed"
    pair = (lambda x: x.astype("float32").astype("float64"), lambda g, x: g)
    (found,) = run(with_code(TANH.replace("tanh(x)", "x * 1"), pair), allow_code=True).cases
    assert found.status == "failed"
