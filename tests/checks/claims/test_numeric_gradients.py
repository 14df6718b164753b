"""Every gradient against the numeric oracle, where a run asks for it."""

from __future__ import annotations

from gradcheck.checks.claims import numeric_gradients
from tests.checks.build import context_of
from tests.checks.conftest import Check, failed, those
from tests.conftest import WithRules

CHAIN = """
    inputs: {x: "randn(3, 3)", w: "randn(3, 3)"}
    graph: {y: x @ w, h: tanh(y), loss: h.sum()}
"""


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


def test_it_is_asked_only_where_the_run_says_so() -> None:
    assert numeric_gradients.applies(context_of(CHAIN, oracle="numeric"))
    assert not numeric_gradients.applies(context_of(CHAIN))


def test_what_cannot_be_told_by_numbers_is_unsupported(check: Check) -> None:
    case = check("{inputs: {x: [1, 2]}, graph: {y: 'x[0] + detach(x)[1]'}, backward: y}", oracle="numeric")
    asked = [c for c in those(case, "gradient") if c.certificate or c.status == "unsupported"]
    assert asked


def test_what_leaves_the_range_of_its_dtype_says_nothing(check: Check) -> None:
    found = check("{inputs: {x: [1.0e-200, 2.0e-200]}, graph: {y: x.norm()}}", oracle="numeric")
    assert found.status == "passed", failed(found)
    assert any(c.has_note("leaves_range") for c in found.comparisons)
