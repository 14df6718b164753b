"""Formulas made of gradients that torch has wrong."""

from __future__ import annotations

import pytest

from gradcheck.checks.scheduling.run import run
from tests.from_text import case_of

#: Torch hands what reads a triangle alone gradients of the other one, too.
CASE = """
    dims: {n: 3}
    inputs: {m: "randn(n, n) + 4 * n ** 0.5 * eye(n)", b: "randn(n, 2)"}
    graph: {l: tril(m), u: l.T, y: "torch.cholesky_solve(b, u, upper=True)"}
    backward: {y: "randn(n, 2)"}
    formulas: {l: FORMULA}
    generalize: false
"""


@pytest.mark.parametrize(("formula", "status"), [("grad(u).T", "passed"), ("2 * grad(u).T", "failed")])
def test_a_formula_holds_by_an_engine_that_has_them_right(formula: str, status: str) -> None:
    found = run(case_of(CASE.replace("FORMULA", formula))).cases[0]
    (one,) = (c for c in found.comparisons if c.formula == formula)
    assert one.status == status
