"""Slips at every occurrence, undone at once."""

from __future__ import annotations

import pytest

from gradcheck.checks.failures.correction import systematic_edits
from gradcheck.checks.failures.correction.edits import EditRule
from tests.checks.conftest import Check
from tests.checks.failures.correction.test_edits import made

NORM = """
    dims: {n: 3, d: 4}
    inputs: {x: "randn(n, d)"}
    constants: {g: randn(d)}
    graph: {mu: "x.mean(dim=1, keepdim=True)", y: (x - mu) * g}
    backward: {y: "randn(n, d)"}
"""


@pytest.mark.parametrize(
    ("edit", "text", "path", "expected"),
    [
        (systematic_edits.change_tensor_throughout, "x * exp(x)", (),
         ["y * exp(y)"]),
        (systematic_edits.scale_tensor_throughout, "x * exp(x)", (), ["x * y * exp(x * y)", "x * v * exp(x * v)"]),
        (systematic_edits.change_tensor_throughout, "x * exp(y)", (), []),
        (systematic_edits.change_tensor_throughout, "x * exp(x)", (1,), []),
        (systematic_edits.change_tensor_throughout, "x * (1 - x) / x", (0,), ["y * (1 - y)"]),
        (systematic_edits.exchange_tensors, "x - 2 * y * v", (), ["y - 2 * x * v"]),
        (systematic_edits.exchange_tensors, "x - y", (0,), []),
        (systematic_edits.change_reductions, "x - x.mean(dim=0) - y.mean(dim=0)", (),
         ["x - mean(x, dim=0) - mean(y, dim=0)", "x - mean(x, dim=1) - mean(y, dim=1)",
          "x - sum(x, dim=0) - sum(y, dim=0)"]),
        (systematic_edits.change_reductions, "x - x.mean(dim=0)", (), []),
    ],
)  # fmt: skip
def test_edits_of_a_whole_formula(edit: EditRule, text: str, path: tuple[int, ...], expected: list[str]) -> None:
    found = made(edit, text, path)
    assert set(expected) <= set(found)
    assert bool(found) == bool(expected)


def test_a_factor_that_is_forgotten_everywhere_is_put_in_and_named(check: Check) -> None:
    formula = "grad(y) - grad(y).mean(dim=1, keepdim=True)"
    case = check(f"{NORM}    formulas: {{x: '{formula}'}}\n")
    (failed,) = [c for c in case.comparisons if c.status == "failed" and c.diagnoses]
    cause, correction = failed.diagnoses[:2]
    assert (cause.kind, cause.message["factor"]) == ("factor_of_tensor", "g")
    assert correction.formula == "grad(y) * g - (grad(y) * g).mean(dim=1, keepdim=True)"
