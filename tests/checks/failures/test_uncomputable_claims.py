"""Formulas, checks and steps that cannot be computed: in the case's own names, with the place of the part."""

from __future__ import annotations

import pytest

from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check

NET = """
    dims: {n: 3, d: 4, h: 2}
    inputs: {X: "randn(n, d)", W: "randn(d, h)"}
    graph: {Z: X @ W, H: tanh(Z), L: (H * H).sum()}
"""


def first(case: CaseResult) -> Comparison:
    return next(c for c in case.comparisons if c.status == "failed")


@pytest.mark.parametrize(
    ("claim", "told", "part"),
    [
        (
            'formulas: {X: "ones_like(X) * (W @ grad(Z))"}',
            "W of shape [4, 2] and grad(Z) of shape [3, 2] cannot be multiplied: 2 columns, 3 rows",
            "W @ grad(Z)",
        ),
        (
            'formulas: {W: "X.T @ grad(Z) + X"}',
            "X.T @ grad(Z) of shape [4, 2] and X of shape [3, 4] do not go together",
            "X.T @ grad(Z) + X",
        ),
        (
            "checks: ['(X * W).sum() == 1']",
            "X of shape [3, 4] and W of shape [4, 2] do not go together",
            "X * W",
        ),
        (
            'formulas: {X: "X * X[7, 0]"}',
            "X[7, 0]: index 7 is beyond dimension 0, which has a size of 3 (X has shape [3, 4])",
            "X[7, 0]",
        ),
    ],
)
def test_a_claim_says_of_which_operands_it_cannot_be_computed(check: Check, claim: str, told: str, part: str) -> None:
    c = first(check(f"{NET}    {claim}"))
    assert say(c.mismatch) == told
    assert c.part is not None
    assert c.part.text[c.part.start : c.part.end] == part


def test_what_cannot_be_computed_in_a_step_is_told_of_the_step(check: Check) -> None:
    case = check(f"{NET}    let: {{s: X * W}}\n    checks: ['s.sum() == 1']")
    c = first(case)
    assert say(c.mismatch) == "the step s: X of shape [3, 4] and W of shape [4, 2] do not go together"
    assert c.part is None


def test_what_has_no_part_of_its_own_stays(check: Check) -> None:
    c = first(check(f"{NET}    formulas: {{X: 'max(X, dim=0)'}}"))
    assert say(c.mismatch).startswith("2 tensors where one is expected")
