"""Failures are heard again: verdicts, conventions at kinks, and values that no subgradient excuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gradcheck.autograd.op import TABLE
from tests.checks.conftest import Check, failed, those
from tests.conftest import WithForward, WithRules

CHAIN = """
    inputs: {x: "randn(3, 3)", w: "randn(3, 3)"}
    graph: {y: x @ w, h: tanh(y), loss: h.sum()}
"""


# Verdicts ------------------------------------------------------------------------------------------


def test_a_wrong_rule_makes_core_stand_alone(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * (1 - y * y) * 1.000001)
    wrong = failed(check(CHAIN))
    assert {c.what for c in wrong} == {"gradient", "node"}
    for comparison in wrong:
        assert comparison.verdict.startswith("core is wrong: torch and complex step agree to ")


def test_a_relative_error_of_1e_9_in_a_well_conditioned_chain_fails(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * (1 - y * y) * (1 + 1e-9))
    case = check(CHAIN)
    assert case.status == "failed"
    assert {c.tensor for c in failed(case, "gradient")} == {"x", "w", "y"}
    assert all(c.status == "failed" for c in failed(case))


def test_a_wrong_formula_stands_alone(check: Check) -> None:
    case = check(CHAIN + "    formulas: {x: (1 - h) @ w.T}\n")
    (own,) = [c for c in failed(case, "formula") if c.trial is None]
    assert own.verdict.startswith("the formula is wrong: torch, core and complex step agree to ")
    in_trials = [c for c in failed(case, "formula") if c.trial is not None and not c.message]
    assert all(c.verdict.startswith("the formula is wrong: torch, core and ") for c in in_trials)


def test_a_wrong_number_in_the_file_stands_alone(check: Check) -> None:
    case = check("{inputs: {x: [1, 2]}, graph: {loss: (x * x).sum()}, expected: {x: [2, 5]}, values: {loss: 6}}")
    gradients, values = failed(case, "expected"), failed(case, "expected_value")
    assert [c.verdict for c in gradients if c.engine == "core"] == [
        "the file is wrong: core, torch and complex step agree exactly"
    ]
    assert [c.verdict for c in values if c.engine == "core"] == ["the file is wrong: core and torch agree exactly"]


def test_torch_may_stand_alone(check: Check) -> None:
    """Its gradient of a singular matrix' determinant is 0."""
    case = check("{inputs: {x: [[0, 0, 0], [0, 0, 1], [0, 1, 2]]}, graph: {loss: linalg.det(x)}}")
    (gradient,) = failed(case, "gradient")
    assert gradient.verdict.startswith("torch and core differ, complex step sides with core")


def test_a_file_that_knows_better_is_a_witness(check: Check, with_rules: WithRules) -> None:
    with_rules("square", lambda g, y, x: g * x)
    case = check("{inputs: {x: [1, 2]}, graph: {y: x.square(), loss: y.sum()}, expected: {x: [2, 4]}}")
    verdicts = {c.verdict for c in failed(case, "gradient") if c.tensor == "x"}
    assert verdicts == {"core is wrong: torch, the file and complex step agree exactly"}


def test_a_wrong_value_has_its_verdict(check: Check, with_forward: WithForward) -> None:
    with_forward("tanh", lambda forward: lambda x: forward(x) * 1.01)
    values = "{y: [0.761594155955765, 0.964027580075817]}"
    case = check(f"{{inputs: {{x: [1, 2]}}, graph: {{y: tanh(x), loss: y.sum()}}, values: {values}}}")
    (value,) = [c for c in failed(case, "value") if c.tensor == "y"]
    assert value.verdict.startswith("core is wrong: torch and the file agree")


def test_nobody_is_asked_where_the_run_says_so(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * (1 - y * y) * 1.01)
    assert not any(c.verdict for c in failed(check(CHAIN, oracle="none")))


def test_a_run_may_ask_the_oracle_about_every_gradient(check: Check) -> None:
    case = check(CHAIN + "    constants: {c: [1, 2, 3]}\n", oracle="numeric")
    asked = [c for c in those(case, "gradient") if c.reference == "complex step"]
    assert {c.tensor for c in asked} == {"x", "w", "y", "h", "loss"}
    assert all(c.status == "passed" and c.certificate for c in asked)


def test_the_oracle_finds_what_both_engines_get_wrong(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * (1 - y * y) * 1.01)
    case = check(CHAIN, oracle="numeric", reference="core")
    assert {c.reference for c in failed(case)} == {"complex step"}
    assert {c.tensor for c in failed(case)} == {"x", "w", "y"}


# Kinks ---------------------------------------------------------------------------------------------

RELU = "{inputs: {x: [0, 1, -1]}, graph: {y: relu(x), loss: (3 * y).sum()}}"


def relu_at_0(slope: float) -> Callable[..., object]:
    where = TABLE["where"]
    return lambda g, y, x: where(x > 0, g, where(x == 0, slope * g, 0 * g))


@pytest.mark.parametrize("slope", [0.5, 1.0])
def test_another_subgradient_is_another_convention(check: Check, with_rules: WithRules, slope: float) -> None:
    with_rules("relu", relu_at_0(slope))
    case = check(RELU)
    assert case.status == "passed"
    (gradient,) = failed(case, "gradient")
    assert gradient.status == "not_differentiable"
    assert gradient.verdict.startswith(
        "a difference of convention, not a failure: no derivative there, and any of [0, 3]"
    )
    assert gradient.certificate == {"method": "differences", "subgradients": [0.0, 3.0]}
    (node,) = failed(case, "node")
    assert node.status == "not_differentiable"


@pytest.mark.parametrize("slope", [-0.1, 1.1, float("nan")])
def test_a_value_outside_of_the_interval_fails(check: Check, with_rules: WithRules, slope: float) -> None:
    with_rules("relu", relu_at_0(slope))
    case = check(RELU)
    assert case.status == "failed"
    (gradient,) = failed(case, "gradient")
    assert (gradient.status, gradient.worst_index) == ("failed", (0,))
    assert "is outside of the subgradients, [0, 3]" in gradient.verdict


def test_a_case_asks_for_torch_s_convention_by_what_it_expects(check: Check, with_rules: WithRules) -> None:
    with_rules("relu", relu_at_0(1.0))
    case = check(RELU[:-1] + ", expected: {x: [0, 3, 0]}}")
    assert case.status == "failed"
    (expected,) = [c for c in failed(case, "expected") if c.status == "failed"]
    assert (expected.engine, expected.worst_index) == ("core", (0,))
    assert expected.verdict.startswith("another convention at a kink: ")


def test_a_wrong_element_beside_a_kink_fails(check: Check, with_rules: WithRules) -> None:
    where = TABLE["where"]
    with_rules("relu", lambda g, y, x: where(x > 0, 1.01 * g, where(x == 0, g, 0 * g)))
    case = check(RELU)
    assert case.status == "failed"
    assert {c.status for c in failed(case, "gradient")} == {"failed"}


def test_ties_share_or_choose(check: Check, with_rules: WithRules) -> None:
    """torch shares the gradient of amax among ties; one that gives all to the first is as right."""
    first, hot, to = TABLE["argmax"], TABLE["one_hot"], TABLE["to"]
    with_rules("amax", lambda g, y, x, *rest: to(hot(first(x), x.shape[0]), x.dtype) * g)
    case = check("{inputs: {x: [2, 1, 2]}, graph: {m: amax(x), loss: 5 * m}}")
    assert case.status == "passed", failed(case)
    assert {c.status for c in failed(case)} == {"not_differentiable"}


@pytest.mark.parametrize(
    ("op", "graph"),
    [
        ("abs", "loss: x.abs().sum()"),
        ("clamp", "loss: 'clamp(x, 0, 1).sum()'"),
        ("linalg.vector_norm", "loss: 'x[:1].norm()'"),
    ],
)
def test_other_kinks_are_intervals_too(check: Check, with_rules: WithRules, op: str, graph: str) -> None:
    rules = TABLE[op].rules
    where = TABLE["where"]

    def one_at_0(g: object, y: object, x: object, *rest: object) -> object:
        return where(x == 0, 0.25 * g, rules[0](g, y, x, *rest))  # type: ignore[misc]

    with_rules(op, one_at_0, *rules[1:])
    case = check(f"{{inputs: {{x: [0, 0.5]}}, graph: {{{graph}}}}}")
    assert case.status == "passed", failed(case)
    assert {c.status for c in failed(case)} == {"not_differentiable"}
