"""Where forward mode goes wrong first, and why."""

from __future__ import annotations

from gradcheck.autograd.op import TABLE
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.phrases.comparison_text import cause_text
from tests.checks.conftest import Check
from tests.conftest import WithRules

TWO = """
    inputs: {x: [0.5, -1.0, 2.0]}
    graph: {a: tanh(x), b: tanh(a), c: x * 2, loss: (b * c).sum()}
"""


def test_one_op_at_two_places_is_told_of_and_what_is_not_behind_it_is_left_alone(
    check: Check, with_rules: WithRules
) -> None:
    with_rules("tanh", lambda g, y, x: TABLE["detach"](g) * (1 - y * y))
    case = check(TWO, mode="forward")
    wrong = {c.tensor for c in case.comparisons if c.status == "failed" and c.what is ClaimKind.JVP}
    assert wrong == {"a", "b", "loss"}
    assert {c.tensor for c in case.comparisons if c.cause} == {"a", "b"}
    assert all(c.cause or c.consequence_of for c in case.comparisons if c.status == "failed")


def test_a_rule_that_is_not_linear_is_named(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * g * (1 - y * y))
    case = check(TWO, mode="forward")
    lead = next(c for c in case.comparisons if c.cause)
    assert [(d.kind, d.confidence) for d in lead.diagnoses] == [("not_linear", "confirmed")]


def test_a_constant_factor_is_named(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * 3 * (1 - y * y))
    lead = next(c for c in check(TWO, mode="forward").comparisons if c.cause)
    assert [d.kind for d in lead.diagnoses] == ["factor"]


def test_a_rule_that_fails_in_reverse_is_the_cause_of_all(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: -g * (1 - y * y))
    case = check(TWO, mode="both")
    causes = [c for c in case.comparisons if c.cause]
    assert {c.what for c in causes} == {ClaimKind.NODE}
    assert all(c.consequence_of for c in case.comparisons if c.status == "failed" and c.what is ClaimKind.NODE_JVP)
    assert cause_text(causes[0]).startswith("tanh at ")


def test_nothing_is_explained_where_nobody_asks(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: -g * (1 - y * y))
    assert not [c for c in check(TWO, mode="forward", explained=False).comparisons if c.cause]
