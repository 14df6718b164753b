"""What is wrong only where two conditions hold at once."""

from __future__ import annotations

import pytest

from tests.checks.conftest import Check, failed

GRAPH = "dims: {n: 4}, inputs: {a: 'randn(n)', b: 'randn(n)'}, graph: {y: 'maximum(a, b)'}, backward: {y: 'randn(n)'}"


@pytest.mark.parametrize("wrong", ["where(isnan(log(a + 3)), 2, 1)", "(1 + (b > 4))", "(1 + (a - b < 0.001))"])
def test_beside_a_kink(check: Check, wrong: str) -> None:
    assert check(f"{{{GRAPH}, formulas: {{a: 'grad(y) * (a > b) * {wrong}'}}}}", corrected=False).status == "failed"


@pytest.mark.parametrize(
    "formula", ["grad(y) * (a >= b)", "where(a > b, grad(y), 0)", "grad(y) * (1 + sign(a - b)) / 2"]
)
def test_right_ones_pass(check: Check, formula: str) -> None:
    case = check(f"{{{GRAPH}, formulas: {{a: '{formula}'}}}}")
    assert case.status == "passed", failed(case)


@pytest.mark.parametrize("wrong", ["(x > 3) * (w < -3)", "(x > 3) * (x < 3.0001)", "(x == 2) * (w == 3)"])
def test_two_tensors(check: Check, wrong: str) -> None:
    graph = "dims: {n: 4}, inputs: {x: 'randn(n)', w: 'randn(n)'}, graph: {y: x * w}, backward: {y: 'randn(n)'}"
    case = check(f"{{{graph}, formulas: {{x: 'w * grad(y) * (1 + {wrong})'}}}}", corrected=False)
    assert case.status == "failed"
