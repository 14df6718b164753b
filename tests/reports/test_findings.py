"""The most telling failure comes first, and what says the same stands with it; each in a line with its place."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.checks.result import Trial
from gradcheck.errors import Place
from gradcheck.reports.findings import findings, place_in_case
from gradcheck.reports.located_messages import LocatedMessage, failure_messages

ONE, TWO = np.ones((2, 2)), np.full((2, 2), 2.0)


def test_values_come_before_gradients_before_formulas(failed: Any, case: Any) -> None:
    found = findings(case(comparisons=(
        failed(ONE, TWO, what="formula", formula="y", engine="case"),
        failed(ONE, TWO, what="gradient", tensor="x"),
        failed(ONE, TWO, what="node", tensor="q"),
        failed(ONE, TWO, what="value", tensor="q"),
    )))  # fmt: skip
    assert [finding.lead.what for finding in found] == ["value", "node", "gradient", "formula"]


def test_gradients_come_as_the_backward_pass_flows_values_as_the_forward_pass(failed: Any, case: Any) -> None:
    names = ("x", "h", "loss")
    gradients = findings(case(comparisons=tuple(failed(ONE, TWO, tensor=name) for name in names)))
    values = findings(case(comparisons=tuple(failed(ONE, TWO, what="value", tensor=name) for name in names)))
    assert [finding.lead.tensor for finding in gradients] == ["loss", "h", "x"]
    assert [finding.lead.tensor for finding in values] == ["x", "h", "loss"]


def test_expected_joins_the_gradient_of_the_same_tensor_and_step(failed: Any, case: Any) -> None:
    found = findings(case(comparisons=(
        failed(ONE, TWO, what="expected", tensor="x", reference="case"),
        failed(ONE, TWO, tensor="x"),
        failed(ONE, TWO, tensor="x", step=1),
    )))  # fmt: skip
    assert [(f.lead.what, f.lead.step, [o.what for o in f.others]) for f in found] == [
        ("gradient", 0, ["expected"]),
        ("gradient", 1, []),
    ]


def test_trials_join_their_formula_but_two_formulas_stay_apart(failed: Any, case: Any) -> None:
    trial = Trial(1, 0, {"n": 3})
    found = findings(case(comparisons=(
        failed(ONE, TWO, what="formula", formula="a", engine="case", trial=trial),
        failed(ONE, TWO, what="formula", formula="a", engine="case"),
        failed(ONE, TWO, what="formula", formula="b", engine="case"),
    )))  # fmt: skip
    assert [(f.lead.formula, f.lead.trial, len(f.others)) for f in found] == [("a", None, 1), ("b", None, 0)]


def test_what_passed_or_cannot_be_asked_is_no_finding(comparison: Any, case: Any) -> None:
    statuses = ("passed", "unsupported", "not_differentiable", "undecided")
    found = findings(case(comparisons=tuple(comparison(tensor=status, status=status) for status in statuses)))
    assert [finding.lead.tensor for finding in found] == ["undecided"]


def test_engines_that_fail_alike_are_one(failed: Any, case: Any) -> None:
    both = [failed(ONE, TWO, what="expected", tensor="x", reference="case", engine=name) for name in ("torch", "core")]
    (alone,) = findings(case(comparisons=tuple(both)))
    assert (alone.lead.engine, alone.others) == ("torch and core", ())
    (beside,) = findings(case(comparisons=(*both, failed(ONE, TWO, tensor="x"))))
    assert (beside.lead.engine, [other.engine for other in beside.others]) == ("core", ["torch and core"])


def test_grouping_stays_linear(comparison: Any, case: Any) -> None:
    many = tuple(comparison(tensor="x", status="failed", trial=Trial(i, 0, {})) for i in range(20_000))
    (found,) = findings(case(comparisons=many))
    assert len(found.others) == 19_999


def test_a_cause_leads_and_its_consequences_go_with_it(failed: Any, case: Any) -> None:
    (first, other) = findings(case(comparisons=(
        failed(ONE, TWO, tensor="x", consequence_of="tanh at h"),
        failed(ONE, TWO, what="expected", tensor="x", reference="case", consequence_of="tanh at h"),
        failed(ONE, TWO, tensor="z"),
        failed(ONE, TWO, what="node", tensor="h", cause=("tanh at h", "its gradient is wrong; all 2 others are right")),
    )))  # fmt: skip
    assert first.lead.what == "node"
    assert [(c.what, c.tensor) for c in first.consequences] == [("gradient", "x"), ("expected", "x")]
    assert (other.lead.tensor, other.consequences) == ("z", ())


def test_a_cause_comes_before_what_has_none_whatever_it_is(failed: Any, case: Any) -> None:
    found = findings(case(comparisons=(
        failed(ONE, TWO, what="node", tensor="q"),
        failed(ONE, TWO, tensor="x", cause=("x", "gradients go wrong here; the operation is right on its own")),
        failed(ONE, TWO, what="formula", formula="y", engine="case"),
    )))  # fmt: skip
    assert [finding.lead.what for finding in found] == ["gradient", "node", "formula"]


def test_a_consequence_of_nothing_that_is_told_stands_for_itself(failed: Any, case: Any) -> None:
    """Of another engine, say."""
    (one, two) = findings(case(comparisons=(
        failed(ONE, TWO, tensor="x", consequence_of="b", engine="other"),
        failed(ONE, TWO, tensor="b", cause=("b", "gradients go wrong here")),
    )))  # fmt: skip
    assert (one.lead.tensor, two.lead.tensor) == ("b", "x")
    assert one.consequences == ()


def test_a_case_that_does_what_it_says_has_none(case: Any, failed: Any) -> None:
    assert failure_messages(case()) == []
    assert failure_messages(case(status="xfailed", comparisons=(failed(ONE, TWO),))) == []


def test_errors_come_first_and_findings_by_their_size(case: Any, failed: Any, error: Any) -> None:
    wrong = case(
        status="failed",
        errors=(error("crash", "boom", Place("other.yaml", 3, 4)),),
        comparisons=(failed(ONE, TWO, tensor="x"),),
    )
    first, second = failure_messages(wrong)
    assert first == LocatedMessage(Place("other.yaml", 3, 4), "boom", float("inf"), rule="crash", subject="boom")
    assert (second.location, second.relative_error) == ("cases/chain.yaml:12:3", 0.5)
    assert second.message.startswith("gradient of x: core differs from torch")


def test_what_has_no_numbers_is_as_large_as_can_be(case: Any, comparison: Any) -> None:
    (found,) = failure_messages(case(status="failed", comparisons=(comparison(status="failed", max_rel=None),)))
    assert found.relative_error == float("inf")


def test_a_case_says_why_where_no_comparison_does(case: Any) -> None:
    assert [found.message for found in failure_messages(case(status="failed"))] == ["no gradient was compared"]
    (found,) = failure_messages(case(status="xpassed", reason="a bug"))
    assert found.message == "passes, though it is marked xfail: a bug"


def test_a_place_without_a_line_is_the_cases_own(case: Any) -> None:
    own = case(place=Place("a.yaml", 7, 1))
    assert place_in_case(own, Place()) == Place("a.yaml", 7, 1)
    assert place_in_case(own, Place("b.yaml", 2, 5)) == Place("b.yaml", 2, 5)


def test_a_location_is_as_exact_as_it_is_known() -> None:
    assert LocatedMessage(Place("a.yaml"), "").location == "a.yaml"
    assert LocatedMessage(Place("a\nb.yaml", 3), "").location == "a\\nb.yaml:3"
