"""What is excused at a kink is decided everywhere else like any other claim."""

from __future__ import annotations

import pytest

from gradcheck.checks.failures import kinks
from tests.checks.build import context_of
from tests.checks.conftest import Check, failed, those

ZEROS = "inputs: {x: [0, 1, -2, 0]}, graph: {y: relu(x)}, backward: {y: randn(4)}"


@pytest.mark.parametrize(
    "factor", ["(x >= 0) * 1.00000000001", "(x >= 0) * (x < 7)", "((x > 0) + 3 * (x == 0))", "((x >= 0) + 1e-12 * x)"]
)
def test_a_near_miss_beside_another_convention_fails(check: Check, factor: str) -> None:
    assert check(f"{{{ZEROS}, formulas: {{x: grad(y) * {factor}}}}}", corrected=False).status == "failed"


def test_another_convention_alone_passes(check: Check) -> None:
    case = check(f"{{{ZEROS}, formulas: {{x: grad(y) * (x >= 0)}}}}")
    assert {c.status for c in failed(case)} == {"not_differentiable"}


@pytest.mark.parametrize(
    ("vector", "status"),
    [("1.0, 0, 0", "passed"), ("0.6, 0, -0.8", "passed"), ("0.3, 0.3, 0.3", "passed"), ("1.0, 0.1, 0", "failed"),
     ("0.6, 0.81, 0", "failed")],
)  # fmt: skip
def test_subgradients_of_a_norm_are_the_vectors_up_to_length_1(check: Check, vector: str, status: str) -> None:
    graph = "inputs: {x: [0.0, 0.0, 0.0]}, graph: {y: x.norm()}, backward: {y: 2.0}"
    case = check(f"{{{graph}, formulas: {{x: 'grad(y) * where(y == 0, tensor([{vector}]), x / y)'}}}}", corrected=False)
    assert case.status == status


def test_a_proof_excuses_nothing_at_a_kink(check: Check) -> None:
    graph = "inputs: {x: [[0.0, 0.0], [1, 2]]}, graph: {y: x.norm(dim=1)}, backward: {y: [1.0, 2.0]}"
    formula = "grad(y)[:, None] * where(y[:, None] == 0, tensor([0.6, 0.9]), x / y[:, None])"
    for options in ({}, {"explained": False}):
        case = check(f"{{{graph}, formulas: {{x: '{formula}'}}}}", **options)
        assert case.status == "failed"
        assert not any(c.certificate for c in those(case, "formula") if c.status == "passed")


def test_nothing_is_looked_at_where_nothing_is_at_a_kink() -> None:
    assert not kinks.applies(context_of("{inputs: {x: [1.0]}, graph: {y: relu(x)}}"))


RANDOM, OWN = "inputs: {x: randn(3)}", "inputs: {x: [0.0, 1, 2]}"


@pytest.mark.parametrize("inputs", [RANDOM, OWN])
def test_a_convention_alone_refutes_no_wrong_formula(check: Check, inputs: str) -> None:
    case = check(f"{{{inputs}, graph: {{y: relu(x).sum()}}, wrong_formulas: {{x: (x >= 0) * 1.0}}}}")
    assert [c.mismatch.kind for c in failed(case) if c.mismatch] == ["differs_at_kinks"]


@pytest.mark.parametrize("inputs", [RANDOM, OWN])
@pytest.mark.parametrize("formula", ["(x > 0) + 2.0 * (x == 0)", "(x >= 0) * (x < 40)", "(x >= 0) * x"])
def test_one_that_is_wrong_beside_its_convention_is_refuted(check: Check, inputs: str, formula: str) -> None:
    case = check(f"{{{inputs}, graph: {{y: relu(x).sum()}}, wrong_formulas: {{x: {formula}}}}}")
    assert case.status == "passed"
