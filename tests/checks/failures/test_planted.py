"""Wrong gradient rules, planted on purpose: each must be found, named, and placed."""

from __future__ import annotations

import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, failed, those
from tests.conftest import WithForward, WithRules

CHAIN = """
    inputs: {x: "randn(3, 3)", w: "randn(3, 3)"}
    graph:
      y: x @ w
      h: tanh(y)
      loss: h.sum()
"""


def test_the_right_rules_pass(check: Check) -> None:
    case = check(CHAIN)
    assert case.status == "passed"
    assert {c.tensor for c in those(case, "gradient")} == {"x", "w", "y", "h", "loss"}
    assert {c.tensor for c in those(case, "value")} == {"y", "h", "loss"}
    assert {c.tensor for c in those(case, "node")} == {"y", "h", "loss"}


def test_a_scaled_rule_is_found_in_the_gradient_and_in_the_node(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * (1 - y * y) * 1.000001)
    case = check(CHAIN)
    assert case.status == "failed"
    assert {c.tensor for c in failed(case, "gradient")} == {"x", "w", "y"}
    (node,) = failed(case, "node")
    assert node.tensor == "h"
    assert node.place.line == 5
    assert "tanh" in say(node.mismatch)


def test_a_seed_of_ones_hides_a_transpose_from_the_gradient_but_not_from_the_node(
    check: Check, with_rules: WithRules
) -> None:
    with_rules("T", lambda g, y, x: g)
    case = check(
        """
        inputs: {x: "randn(3, 3)"}
        graph: {y: x.T, loss: y.sum()}
        """
    )
    assert failed(case, "gradient") == []
    (node,) = failed(case, "node")
    assert (node.tensor, node.place.line) == ("y", 3)
    assert case.status == "failed"


def test_a_wrong_rule_inside_a_nested_expression_is_placed_at_its_entry(check: Check, with_rules: WithRules) -> None:
    with_rules("T", lambda g, y, x: g)
    case = check(
        """
        inputs: {x: "randn(3, 3)"}
        graph:
          loss: (2 * x.T).sum()
        """
    )
    (node,) = failed(case, "node")
    assert (node.tensor, node.place.line) == ("loss", 4)


def test_swapped_rules_of_one_tensor_used_twice_are_found(check: Check, with_rules: WithRules) -> None:
    """x @ x: the sum of both contributions is nearly right when the two rules are exchanged."""
    left, right = TABLE["matmul"].rules[:2]
    with_rules("matmul", right, left)
    case = check(
        """
        inputs: {x: "randn(3, 3)"}
        graph: {y: x @ x, loss: y.sum()}
        """
    )
    assert len(failed(case, "node")) == 2


def test_a_missing_rule_is_found(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", None)
    case = check(CHAIN)
    assert {c.tensor for c in failed(case, "node")} == {"h"}
    assert {c.tensor for c in failed(case, "gradient")} == {"x", "w", "y"}


def test_a_rule_that_makes_another_shape_is_an_error_of_that_case(check: Check, with_rules: WithRules) -> None:
    with_rules("sum", lambda g, y, x, *settings: g)
    case = check("{inputs: {x: [1, 2]}, graph: {loss: x.sum()}}")
    assert case.status == "failed"
    outcome, told = failed(case, "raises")
    assert (told.reference, say(told.mismatch).partition(" (")[0]) == ("case", "core raises shape_mismatch")
    assert "shape_mismatch" in say(outcome.mismatch)
    assert case.errors[0].kind == "shape_mismatch"


@pytest.mark.parametrize("scale", ["1e-12", "1e12", "1e-200"])
def test_a_wrong_rule_is_found_at_any_scale(check: Check, with_rules: WithRules, scale: str) -> None:
    with_rules("tanh", lambda g, y, x: g * (1 - y * y) * 1.001)
    case = check(f"{{inputs: {{x: 'randn(3)'}}, graph: {{loss: '(tanh(x) * {scale}).sum()'}}}}")
    assert [c.tensor for c in failed(case, "gradient")] == ["x"]
    assert failed(case, "node")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "complex64", "complex128"])
def test_a_wrong_rule_is_found_in_every_dtype(check: Check, with_rules: WithRules, dtype: str) -> None:
    with_rules("mul", lambda g, y, a, b: g * b * 1.05, lambda g, y, a, b: g * a)
    case = check(
        """
        inputs: {x: [0.5, 2, -1.5], w: [1, 2, 3]}
        graph: {y: x * w}
        backward: {y: [1, 2, 3]}
        """,
        dtype=dtype,
        seed=2,  # of bfloat16, 5 % is about what roundings explain where incoming gradients are small beside others
    )
    assert case.status == "failed"
    assert [c.tensor for c in failed(case, "node")] == ["y"]


def test_another_convention_at_a_tie_is_not_taken_for_noise(check: Check, with_rules: WithRules) -> None:
    where, zeros = TABLE["where"], TABLE["zeros_like"]
    with_rules("relu", lambda g, y, x: where(x < 0, zeros(g), g))
    case = check("{inputs: {x: [0, 1, -1]}, graph: {loss: relu(x).sum()}}")
    (gradient,) = failed(case, "gradient")
    assert (gradient.status, gradient.worst_index) == ("not_differentiable", (0,))


def test_a_wrong_forward_is_found_before_the_gradients(check: Check, with_forward: WithForward) -> None:
    with_forward("tanh", lambda forward: lambda x: forward(x) * 1.001)
    case = check(CHAIN)
    wrong = failed(case)
    assert (wrong[0].what, wrong[0].tensor) == ("value", "h")


def test_incoming_gradients_of_lone_complex_numbers(check: Check) -> None:
    case = check("{dtype: complex128, inputs: {a: 'randn(2)'}, graph: {s: a.sum() * 2, l: abs(s)}}")
    assert case.status == "passed", case.errors
