"""Calls that are defined, and hardly ever meant."""

from __future__ import annotations

import pytest

from gradcheck import run
from gradcheck.language.likely_slips import likely_slips
from gradcheck.reports.phrases import say
from tests.from_text import case_of

HEAD = "dims: {n: 4, k: 3}\ninputs: {z: 'randn(n, k)'}\nconstants: {t: 'randint(0, k, [n])', q: 'rand(n, k)'}\n"


@pytest.mark.parametrize(
    ("graph", "told"),
    [
        (
            "{p: 'softmax(z, 1)', loss: 'cross_entropy(p, t)'}",
            ["loss: p holds probabilities, and cross_entropy takes logits"],
        ),
        (
            "{loss: 'cross_entropy(softmax(z, 1), t)'}",
            ["loss: its argument holds probabilities, and cross_entropy takes logits"],
        ),
        (
            "{p: sigmoid(z), r: p, loss: 'binary_cross_entropy_with_logits(r, q)'}",
            ["loss: r holds probabilities, and binary_cross_entropy_with_logits takes logits"],
        ),
        (
            "{p: 'softmax(z, 1)', loss: 'nll_loss(p, t)'}",
            ["loss: p holds probabilities, and nll_loss takes logarithms of probabilities"],
        ),
        ("{m: z.mean(), loss: m.mean()}", ["loss is the mean of a mean, which is one number"]),
        ("{p: 'log_softmax(z, 1)', loss: 'nll_loss(p, t)'}", []),
        ("{loss: 'cross_entropy(z, t)'}", []),
        ("{m: 'z.mean(dim=1)', loss: m.mean()}", []),
    ],
)  # fmt: skip
def test_they_are_found(graph: str, told: list[str]) -> None:
    case = case_of(f"{HEAD}graph: {graph}")
    assert [say(found) for found in likely_slips(case)] == told


def test_a_run_tells_them() -> None:
    (found,) = run(case_of(f"{HEAD}graph: {{p: 'softmax(z, 1)', loss: 'cross_entropy(p, t)'}}")).cases
    assert found.status == "passed"
    assert [say(warning) for warning in found.warnings] == [
        "loss: p holds probabilities, and cross_entropy takes logits"
    ]
