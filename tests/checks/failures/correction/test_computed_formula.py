"""What code computes instead of the right formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.checks.result import Diagnosis
from gradcheck.checks.scheduling.run import run
from gradcheck.reports.phrases import say
from tests.engines.implementation.build import with_code

CASE = 'dims: {n: 3, d: 2}\ninputs: {x: "randn(n, d)", w: "randn(d)"}\ngraph: {y: silu(x) * w}'


def logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def forward(x: Any, w: Any) -> Any:
    return x * logistic(x) * w, (x, w)


def told(case: str, pair: Any) -> dict[str, Diagnosis]:
    (found,) = run(with_code(case, pair), allow_code=True).cases
    return {f"{c.what.value} {c.tensor}": c.diagnoses[0] for c in found.comparisons if c.diagnoses}


@pytest.mark.parametrize(
    ("derivative", "said"),
    [
        (lambda x, s: s + x * s, "x where x * (1 - sigmoid(x)) belongs"),
        (lambda x, s: s + x * s * (1 + s), "1 + sigmoid(x) where 1 - sigmoid(x) belongs"),
        (lambda x, s: np.sin(7 * x), "unknown"),
    ],
)
def test_a_derivative_is_told_by_its_slip(derivative: Any, said: str) -> None:
    def backward(g: Any, cache: Any) -> Any:
        x, w = cache
        s = logistic(x)
        return g * w * derivative(x, s), (g * x * s).sum(0)

    (found,) = told(CASE, (forward, backward)).values()
    assert said in (found.kind, say(found.message).removeprefix("computed as ").partition(", in ")[0])


def test_a_value_is_told_by_its_slip() -> None:
    case = 'dims: {n: 3, d: 4}\ninputs: {x: "randn(n, d)"}\ngraph: {y: "softmax(x / sqrt(d), dim=-1)"}'

    def of_rows(x: Any) -> Any:
        e = np.exp(x / np.sqrt(len(x)))
        y = e / e.sum(1, keepdims=True)
        return y, y

    def backward(g: Any, y: Any) -> Any:
        return y * (g - (g * y).sum(1, keepdims=True)) / np.sqrt(len(y))

    found = told(case, (of_rows, backward))["value y"]
    assert say(found.message) == "computed as n where d belongs, in softmax(x / sqrt(n), dim=-1)"
    assert found.confidence == "confirmed"


def test_no_formula_is_told_that_fits_at_one_size_alone() -> None:
    """At d = 2, as the case has it, half of what is right is right / d."""

    def backward(g: Any, cache: Any) -> Any:
        x, w = cache
        s = logistic(x)
        return g * w * (s + x * s * (1 - s) / 2), (g * x * s).sum(0)

    (found,) = told(CASE, (forward, backward)).values()
    assert "/ d" not in say(found.message)


def test_a_derivation_of_exponential_length_is_not_searched() -> None:
    """Each derived step uses the one before twice."""

    def many(x: Any) -> Any:
        return np.cumprod(x), x

    def backward(g: Any, x: Any) -> Any:
        return 2 * g

    case = "dims: {n: 2000}\ninputs: {x: 'uniform(0.999, 1.001, [n])'}\ngraph: {y: 'cumprod(x, 0)'}"
    assert "computed as" not in str(told(case, (many, backward)))
