"""Factors that tensors of an entry give."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.scheduling.run import run
from gradcheck.reports.phrases.phrase_table import say
from gradcheck.testing import check_function
from tests.engines.implementation.build import with_code

CASE = 'dims: {n: 5, d: 4}\ninputs: {a: "randn(n, d)", b: "randn(n, d)"}\ngraph: {y: "a * exp(b.sum(1, keepdim=True))"}'


def told(factor: Any) -> str:
    def forward(a: Any, b: Any) -> Any:
        return a * np.exp(b.sum(1, keepdims=True)), (a, b)

    def backward(g: Any, c: Any) -> Any:
        a, b = c
        e = np.exp(b.sum(1, keepdims=True))
        return g * e * factor(a, b), (g * a * e).sum(1, keepdims=True) + 0 * b

    (found,) = run(with_code(CASE, (forward, backward)), allow_code=True).cases
    return " ".join(say(d.message) for c in found.comparisons if c.tensor == "a" for d in c.diagnoses)


def test_a_function_of_one() -> None:
    assert re.search(r"1 - tanh\(b\) \*\* 2", told(lambda a, b: 1 - np.tanh(b) ** 2))


def test_a_quotient_of_two_and_a_number_times_one() -> None:
    assert "no constant" in told(lambda a, b: (1 + b * 0 + a * a * 0) * np.abs(a) / np.exp(b))
    assert "no constant: 0.3 * (" in told(lambda a, b: 0.3 / (1 + np.exp(-b)))


def test_a_number_that_is_added_to_a_divisor() -> None:
    assert "no constant: b / (b + 0.001)" in told(lambda a, b: b / (b + 1e-3))
    assert "no constant: (b + 0.5) / b" in told(lambda a, b: (b + 0.5) / b)


def test_a_factor_is_named_where_only_differences_know_the_gradient() -> None:
    """A forward of Python's numbers leaves no tape: the gradient of log(x) ** 2 lacks its division by x."""

    def forward(x: Any) -> Any:
        return np.array([math.log(one) ** 2 for one in x.tolist()])

    with pytest.raises(AssertionError, match="off by a factor that is no constant: x"):
        check_function(forward, lambda g, x: 2 * g * np.log(x), x="uniform(0.5, 3, [6])")


def test_a_tensor_of_one_number_is_a_factor_that_varies() -> None:
    def forward(x: Any, p: Any) -> Any:
        return np.array([one ** float(p) for one in x.tolist()]), (x, p)

    def backward(g: Any, c: Any, factor: bool = True) -> Any:
        x, p = c
        return g * x ** (p - 1) * (p if factor else 1), (g * x**p * np.log(x)).sum()

    shapes = {"x": "uniform(0.5, 2, [5])", "p": "uniform(0.3, 0.8, [])"}
    check_function(forward, backward, **shapes)
    with pytest.raises(AssertionError, match=r"no constant: 1 / \(p\)"):
        check_function(forward, lambda g, c: backward(g, c, False), **shapes)
