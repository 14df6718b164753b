"""Near misses beside functions: off by far more than rounding explains, and within every tolerance."""

from __future__ import annotations

import pytest

from tests.checks.conftest import Check

EXP = "dims: {n: 4}, inputs: {x: 'randn(n)'}, graph: {y: exp(x) * x}, backward: {y: 'randn(n)'}"
TWICE = (
    "dims: {n: 4}, inputs: {x: 'randn(n)'}, graph: {y: x * x}, "
    "steps: [{backward: {y: 'randn(n)'}}, {backward: {y: 'randn(n)'}}]"
)


@pytest.mark.parametrize(
    ("graph", "formula"),
    [(EXP, "(exp(x) + y) * grad(y) * (1 + 1e-11)"), (EXP, "(exp(x + 1e-12) + y) * grad(y)"),
     (TWICE, "2 * x * grad(y) * (1 + 3e-12)")],
)  # fmt: skip
def test_a_near_miss_fails(check: Check, graph: str, formula: str) -> None:
    case = check(f"{{{graph}, formulas: {{x: '{formula}'}}}}")
    (found,) = [c for c in case.comparisons if c.status == "failed"]
    assert found.mismatch is not None
    assert found.mismatch.kind == "beyond_rounding"


@pytest.mark.parametrize(
    ("graph", "formula"),
    [(EXP, "(exp(x/2)**2 + exp(3*x) * exp(-2*x) * x) * grad(y)"), (TWICE, "((x + 1)**2 - (x - 1)**2) / 2 * grad(y)")],
)
def test_rounding_is_none(check: Check, graph: str, formula: str) -> None:
    assert check(f"{{{graph}, formulas: {{x: '{formula}'}}}}").status == "passed"


def test_what_the_case_allows_is_none(check: Check) -> None:
    case = check(f"{{{EXP}, formulas: {{x: '(exp(x) + y) * grad(y) * (1 + 1e-11)'}}, tolerance: {{rtol: 1.0e-9}}}}")
    assert case.status == "passed"


def test_what_is_near_for_small_numbers_alone_fails(check: Check) -> None:
    graph = "dims: {n: 4}, inputs: {x: 'randn(n)', w: 'randn(n)'}, graph: {y: exp(x) * w}, backward: {y: 'randn(n)'}"
    for factor, status in (("cos(1e-7 * x)", "failed"), ("cos(0 * x)", "passed")):
        assert check(f"{{{graph}, formulas: {{w: 'exp(x) * grad(y) * {factor}'}}}}", explained=False).status == status
