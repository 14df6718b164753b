"""Gradients of gradients: engine against reference, and against differences of first gradients."""

from __future__ import annotations

import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, failed, those
from tests.conftest import WithRules

CHAIN = """
    inputs: {x: "randn(3, 2)", w: "randn(2, 4)"}
    graph: {y: x @ w, h: tanh(y), loss: (h * h).sum()}
"""


def test_nothing_of_second_order_unless_it_is_asked_for(check: Check) -> None:
    assert those(check(CHAIN), "gradient2") == []


def test_every_input_is_compared_and_confirmed(check: Check) -> None:
    found = those(check(CHAIN, order=2), "gradient2")
    assert [c.tensor for c in found] == ["x", "w"]
    for comparison in found:
        assert (comparison.status, comparison.engine, comparison.reference) == ("passed", "core", "torch")
        assert comparison.certificate is not None
        assert comparison.certificate["method"] == "differences"


def test_a_rule_that_is_right_but_cannot_be_differentiated_again_is_found(check: Check, with_rules: WithRules) -> None:
    detach = TABLE["detach"]
    with_rules("tanh", lambda g, y, x: g * (1 - detach(y * y)))
    case = check(CHAIN, order=2)
    assert failed(case, "gradient") == failed(case, "node") == []
    wrong = failed(case, "gradient2")
    assert {c.tensor for c in wrong} == {"x", "w"}
    assert all(say(c.verdict).startswith("core is wrong: torch and differences agree") for c in wrong)
    assert case.status == "failed"


def test_both_wrong_is_found_by_differences(check: Check, with_rules: WithRules) -> None:
    detach = TABLE["detach"]
    with_rules("tanh", lambda g, y, x: g * (1 - detach(y * y)))
    wrong = failed(check(CHAIN, order=2, reference="core"), "gradient2")
    assert {(c.engine, c.reference) for c in wrong} == {("core", "differences")}


@pytest.mark.parametrize(
    "case",
    [
        "{inputs: {x: [1, 2]}, graph: {z: x ** 3}, backward: {z: [2, -1]}}",
        "{inputs: {x: 2.5}, graph: {loss: x ** 3}}",
        "{inputs: {x: [1, 2]}, graph: {z: 3 * x}, backward: {z: [2, -1]}}",
        "{dtype: complex128, inputs: {z: ['1+2j', '3-1j']}, graph: {y: z ** 3, loss: (y * y).abs().sum()}}",
        "{inputs: {x: [1, 2]}, graph: {z: x ** 3}, steps: [backward: {z: [1, 1]}, forward: {x: [3, 4]}, "
        "backward: {z: [1, 2]}]}",
        "{inputs: {x: [1, 2]}, graph: {loss: (detach(x) * x ** 2).sum()}}",
        "{inputs: {x: 'randn(4)'}, graph: {loss: (x.softmax(0) * x).sum()}, dtype: float32}",
    ],
)
def test_cases_of_all_kinds_agree(check: Check, case: str) -> None:
    found = check(case, order=2)
    assert found.status == "passed", failed(found)
    assert those(found, "gradient2")


def test_a_case_whose_passes_all_raise_has_none(check: Check) -> None:
    found = check(
        "{inputs: {x: [1, 2]}, graph: {z: x * x}, steps: [{backward: z, raises: non_scalar_backward}]}", order=2
    )
    assert found.status == "passed"
    assert those(found, "gradient2") == []


def test_a_kink_of_first_gradients_leaves_a_choice(check: Check) -> None:
    """The second derivative of Huber's loss at its delta is 1 on one side and 0 on the other."""
    found = check("{inputs: {x: [0.5, 3, 1]}, constants: {t: [0.0, 0, 0]}, graph: {loss: 'huber_loss(x, t)'}}", order=2)
    assert found.status == "passed", failed(found)
    assert {c.status for c in those(found, "gradient2")} <= {"passed", "not_differentiable"}


@pytest.mark.parametrize(
    "stated", ["x: [1.0e-200, 2.0e-200]}, graph: {y: x.norm()", "x: [800, 1]}, graph: {y: exp(x).sum()"]
)
def test_what_leaves_the_range_of_its_dtype_says_nothing(check: Check, stated: str) -> None:
    found = check(f"{{inputs: {{{stated}}}}}", order=2)
    assert found.status == "passed", failed(found)
    assert any(c.has_note("leaves_range") for c in those(found, "gradient2"))


def test_torch_may_be_wrong_about_second_order(check: Check) -> None:
    """The norm of these numbers underflows, and what torch makes of its second derivative is NaN."""
    tiny = "inputs: {x: [1.0e-200, 2.0e-200]}, graph: {y: 'normalize(x, dim=0)'}, backward: {y: [1, 2]}"
    found = check(f"{{{tiny}, generalize: false}}", order=2)
    assert found.status == "passed"
    assert found.wrong_references == ("torch",)
