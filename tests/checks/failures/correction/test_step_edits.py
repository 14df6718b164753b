"""Slips in steps of a derivation that are the gradient of nothing that has a name."""

from __future__ import annotations

from gradcheck.checks.result import MEANT
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, failed

NETWORK = """
    dims: {n: 3, d: 2, h: 4}
    inputs: {X: "randn(n, d)", W: "randn(d, h)", b: "randn(h)", V: "randn(h)"}
    graph: {H: "tanh(X @ W + b)", loss: "sum((H @ V) ** 2)"}
    let: {dH: "2 * (H @ V)[:, None] * V", dA: "dH * (1 - H SLIP)"}
    formulas: {W: X.T @ dA, b: "dA.sum(dim=0)", X: dA @ W.T, V: "2 * H.T @ (H @ V)"}
"""


def test_a_slip_is_told_once_with_all_that_follows_from_it(check: Check) -> None:
    found = check(NETWORK.replace("SLIP", ""))
    (step,) = [c for c in failed(found, "formula") if c.consequence_of is None]
    assert (step.tensor, step.reference) == ("dA", MEANT)
    assert step.cause is not None
    assert say(step.cause.what) == "is wrong; the formulas of W, b and X only because of it"
    suggested, cause = step.diagnoses
    assert suggested.formula == "dH * (1 - H ** 2)"
    assert say(cause.message) == "H stands where H ** 2 belongs"
    assert {c.tensor for c in failed(found, "formula") if c.consequence_of is not None} == {"W", "b", "X"}
