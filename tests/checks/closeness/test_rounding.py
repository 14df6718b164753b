"""Tolerance that is measured: what rounding explains passes, what it may explain is undecided, all else fails."""

from __future__ import annotations

import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, failed
from tests.conftest import WithRules

HILBERT = """
    inputs: {{s: "randn({n}, {n})"}}
    constants:
      h: 1 / (arange(1., {n} + 1.).reshape({n}, 1) + arange({n} * 1.))
    graph:
      a: h + 0 * s
      y: linalg.inv(a)
      loss: (y * s).sum()
    formulas:
      a: -y.T @ s @ y.T
"""


@pytest.mark.parametrize("n", [4, 6, 8, 10])
def test_the_inverse_of_a_hilbert_matrix_is_no_alarm(check: Check, n: int) -> None:
    assert check(HILBERT.format(n=n)).status == "passed"


def test_past_the_limit_nothing_is_decided(check: Check) -> None:
    """The 13th has a condition number of 1e18."""
    case = check(HILBERT.format(n=13))
    assert case.status == "failed"
    assert {c.status for c in failed(case)} == {"undecided"}
    assert all("too ill-conditioned to be decided" in say(c.mismatch) for c in failed(case))


#: Whole numbers, which every processor adds exactly in any order; what is expected of x is off by 6e-8.
CANCELLING = """
    inputs: {{x: [3, -2]}}
    graph: {{y: "x + {large} - {large}", loss: (y * y).sum()}}
    expected: {{x: [6.00000006, -4]}}
"""


def test_what_noise_explains_is_noted(check: Check) -> None:
    """Of 52 bits, 30 are lost."""
    case = check(CANCELLING.format(large=2**30))
    assert case.status == "passed"
    notes = [note for c in case.comparisons for note in c.notes]
    assert [say(note) for note in notes] == [
        "beyond the base tolerance by 6e-08, within the rounding noise of this graph at this point"
    ] * 2


def test_the_same_error_without_noise_fails(check: Check) -> None:
    case = check(CANCELLING.format(large=1))
    assert [(c.what, c.notes) for c in failed(case)] == [("expected", ())] * 2


def test_an_error_that_is_larger_than_the_noise_of_an_ill_conditioned_graph_fails(
    check: Check, with_rules: WithRules
) -> None:
    with_rules("sum", lambda g, y, x, *rest: TABLE["expand"](g, x.shape) * 1.01)
    case = check(HILBERT.format(n=4))
    assert case.status == "failed"
    assert "failed" in {c.status for c in failed(case)}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_low_precision_is_judged_by_double_precision(check: Check, dtype: str) -> None:
    """A layer norm of two numbers: its gradient is what cancellation leaves, in any engine."""
    case = check(
        """
        inputs: {x: [[0.3, 0.301], [-1.5, 2.5]], c: [[1, 2], [3, -1]]}
        graph: {y: "F.layer_norm(x, [2])", loss: (y * c).sum()}
        """,
        dtype=dtype,
    )
    assert case.status == "passed", failed(case)


def test_a_wrong_rule_in_low_precision_still_fails(check: Check, with_rules: WithRules) -> None:
    with_rules("mul", lambda g, y, a, b: g * b * 1.001, lambda g, y, a, b: g * a)
    case = check("{inputs: {x: [0.5, 2], w: [3, -1]}, graph: {y: x * w, loss: y.sum()}}", dtype="float32")
    assert case.status == "failed"
