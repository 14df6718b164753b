"""Graphs in which there can be no kink, told by the ops that they apply, those inside of others included."""

from __future__ import annotations

import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.checks.branches.smoothness import is_smooth
from gradcheck.language.sampling import draw
from tests.checks.conftest import Check, failed
from tests.conftest import WithRules
from tests.from_text import case_of

CASE = "{inputs: {x: 'randn(3, 3)', w: 'randn(3, 3)'}, graph: {h: x @ w, y: '%s', loss: y.sum()}}"


@pytest.mark.parametrize(
    "graph",
    [
        "tanh(h)",
        "nn.functional.linear(x, w)",
        "softmax(h, dim=1)",
        "x[tensor([0, 2])] * 2",
        "h.T.flatten().unsqueeze(0)",
        "x * 3",
    ],
)
def test_smooth(graph: str) -> None:
    assert is_smooth(draw(case_of(CASE % graph)))


@pytest.mark.parametrize(
    "graph",
    [
        "relu(h)",
        "h * (x > 0)",
        "where(h > 0, x, w)",
        "nn.functional.relu6(h)",  # by the ops that it is made of
        "h * one_hot(x.argmax(dim=1), 3)",
        "x[argsort(h[0])]",
        "amax(h, dim=1)",
        "x.to(int64) * w",
        "1 / h",
        "sqrt(h * h)",
        "h.norm()",
        "x * h.sort()[0]",
    ],
)
def test_not_smooth(graph: str) -> None:
    assert not is_smooth(draw(case_of(CASE % graph)))


def test_what_the_core_cannot_evaluate_is_not_known_to_be() -> None:
    assert not is_smooth(draw(case_of("{inputs: {x: 'randn(3, 2)'}, graph: {y: x @ x, loss: y.sum()}}")))


def test_a_kink_is_found_behind_smooth_ops(check: Check, with_rules: WithRules) -> None:
    where = TABLE["where"]
    with_rules("relu", lambda g, y, x: where(x >= 0, g, 0 * g))
    case = check("{inputs: {x: [0, 1, -1]}, graph: {h: 2 * x, y: relu(h), loss: (3 * y).sum()}}")
    assert {c.status for c in failed(case, "gradient")} == {"not_differentiable"}
