"""At a kink every value between the one-sided derivatives is a subgradient."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, failed
from tests.conftest import WithRules

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
    assert say(gradient.verdict).startswith(
        "a difference of convention, not a failure: no derivative there, and any of [0, 3]"
    )
    assert gradient.certificate == {"method": "gradients nearby", "subgradients": [0.0, 3.0]}
    (node,) = failed(case, "node")
    assert node.status == "not_differentiable"


@pytest.mark.parametrize("slope", [-0.1, 1.1, float("nan")])
def test_a_value_outside_of_the_interval_fails(check: Check, with_rules: WithRules, slope: float) -> None:
    with_rules("relu", relu_at_0(slope))
    case = check(RELU)
    assert case.status == "failed"
    (gradient,) = failed(case, "gradient")
    assert (gradient.status, gradient.worst_index) == ("failed", (0,))
    assert "is outside of the subgradients, [0, 3]" in say(gradient.verdict)


def test_a_case_asks_for_torch_s_convention_by_what_it_expects(check: Check, with_rules: WithRules) -> None:
    with_rules("relu", relu_at_0(1.0))
    case = check(RELU[:-1] + ", expected: {x: [0, 3, 0]}}")
    assert case.status == "failed"
    (expected,) = [c for c in failed(case, "expected") if c.status == "failed"]
    assert (expected.engine, expected.worst_index) == ("core", (0,))
    assert say(expected.verdict).startswith("another convention at a kink: ")


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
