"""Factors at other sizes."""

from __future__ import annotations

import pytest

from gradcheck.checks.result import CaseResult
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check


def factors(case: CaseResult) -> list[str]:
    return [say(d.message) for c in case.comparisons for d in c.diagnoses if d.kind == "factor"]


@pytest.mark.parametrize(
    ("loss", "formula", "told"),
    [
        ("(x * x).sum()", "2 * x / n", "off by the factor 1 / n"),
        ("(x * x).mean(0).sum()", "2 * x / m", "off by the factor n / m"),
        ("(x * x).sum() / m ** 0.5", "2 * x", "off by the factor sqrt(m)"),
        ("(x * x).mean()", "x / n", "off by the factor m / 2"),
        ("(x * x).sum()", "6 * x", "off by the constant factor 3"),
    ],
)
def test_a_factor_is_told_in_sizes(check: Check, loss: str, formula: str, told: str) -> None:
    case = check(f"""
        dims: {{n: 4, m: 3}}
        inputs: {{x: "randn(n, m)"}}
        graph: {{loss: {loss}}}
        formulas: {{x: {formula}}}
    """)
    assert factors(case) == [told]


def test_what_is_no_factor_elsewhere_is_not_told(check: Check) -> None:
    case = check("""
        dims: {n: 4, m: 3}
        inputs: {x: "randn(n, m)"}
        graph: {loss: (x * x).sum()}
        formulas: {x: "2 * x * (n + 1)"}
    """)
    assert case.status == "failed"
    assert factors(case) == []


def test_where_no_size_varies_a_number_is_told(check: Check) -> None:
    case = check("{inputs: {x: [1, 2, 3]}, graph: {loss: (x * x).sum()}, formulas: {x: 2 * x / 3}}")
    assert factors(case) == ["off by the constant factor 1/3, where 3 is the number of elements"]
