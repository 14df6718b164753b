"""Which differences are of convention: however many elements, all tensors together, and torch's own mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.checks.closeness.agreement import Allowance, Answer
from gradcheck.checks.failures.kink_conventions import classify_at_kink, is_smooth
from gradcheck.checks.result import Subject
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.sampling import draw
from gradcheck.oracles.numeric.finite_differences import Estimate
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, failed
from tests.conftest import WithRules
from tests.from_text import case_of

CASE = "{inputs: {x: 'randn(3, 3)', w: 'randn(3, 3)'}, graph: {h: x @ w, y: '%s', loss: y.sum()}}"
FAILED = Subject(ClaimKind.GRADIENT, "x", engine="core", reference="torch").failed()


@pytest.mark.parametrize(
    "case",
    [
        "{inputs: {x: zeros(1500)}, graph: {y: relu(x)}, backward: {y: randn(1500)},"
        " formulas: {x: grad(y) * (x >= 0)}}",
        "{inputs: {x: zeros(300)}, graph: {y: abs(x)}, backward: {y: randn(300)},"
        " formulas: {x: 'grad(y) * where(x < 0, -1.0, 1.0)'}}",
        "{inputs: {a: [1, 2, 3], b: [1, 5, 3]}, graph: {y: 'maximum(a, b)'}, backward: {y: [1.0, 2, 4]},"
        " formulas: {a: grad(y) * (a >= b), b: grad(y) * (b > a)}}",
        "{dims: {n: 7, d: 3, h: 4}, inputs: {x: 'randint(-1, 2, [n, d]).to(float64)',"
        " w: 'randint(-1, 2, [d, h]).to(float64)'}, graph: {z: x @ w, y: relu(z)}, backward: {y: 'randn(n, h)'},"
        " formulas: {w: x.T @ (grad(y) * (z >= 0)), x: (grad(y) * (z >= 0)) @ w.T}}",
    ],
)
def test_a_right_formula_may_follow_another_convention(check: Check, case: str) -> None:
    found = check(case)
    assert found.status == "passed", failed(found)
    assert {c.status for c in failed(found)} == {"not_differentiable"}


@pytest.mark.parametrize("factor", ["2", "(x == y) / (x == y).sum()**2 * 2"])
def test_shares_of_a_tie_must_add_up(check: Check, factor: str) -> None:
    graph = "inputs: {x: [1, 3, 3, 2]}, graph: {y: amax(x)}, backward: {y: 2.0}"
    found = check(f"{{{graph}, formulas: {{x: {factor} * (x == y)}}}}")
    assert found.status == "failed"
    (own,) = [c for c in failed(found, "formula") if c.trial is None]
    assert "together they are none" in say(own.verdict)


def test_two_tensors_are_judged_together(check: Check) -> None:
    graph = "inputs: {a: [1, 2, 3], b: [1, 5, 3]}, graph: {y: 'maximum(a, b)'}, backward: {y: [1.0, 2, 4]}"
    for a, b in ((">=", ">="), (">", ">")):
        text = f"{{{graph}, formulas: {{a: grad(y) * (a {a} b), b: grad(y) * (b {b} a)}}}}"
        assert check(text, corrected=False).status == "failed"


def test_one_wrong_element_among_many_at_kinks(check: Check) -> None:
    found = check(
        "{inputs: {x: zeros(400)}, graph: {y: relu(x)}, backward: {y: randn(400)},"
        " formulas: {x: 'grad(y) * (x >= 0) + 2 * (arange(400) == 377) * grad(y)'}}",
        corrected=False,
    )
    assert found.status == "failed"


def test_torch_is_wrong_where_kinks_cancel(check: Check) -> None:
    graph = "inputs: {x: [0, 1, -1]}, graph: {y: relu(x) - relu(-x)}, backward: {y: [1.0, 2, 3]}"
    found = check(f"{{{graph}, formulas: {{x: grad(y)}}}}")
    assert found.status == "passed"
    assert found.wrong_references == ("torch",)
    assert check(f"{{{graph}, formulas: {{x: grad(y) + (x == 0)}}}}").status == "failed"


def test_torch_is_wrong_at_a_singular_matrix(check: Check) -> None:
    graph = "inputs: {a: [[1, 2], [2, 4]]}, graph: {y: det(a)}"
    assert check(f"{{{graph}, expected: {{a: [[4, -2], [-2, 1]]}}}}").wrong_references == ("torch",)
    assert check(f"{{{graph}, expected: {{a: [[4, -2], [-2, 1.0001]]}}}}").status == "failed"


def test_a_wrong_engine_is_not_excused_by_a_wrong_reference(check: Check) -> None:
    found = check(
        "{inputs: {x: [0, 2]}, graph: {y: relu(x)}, formulas: {x: 1.001 * (x >= 0)}, backward: {y: [1.0, 1]}}"
    )
    assert found.status == "failed"
    assert not found.wrong_references


@pytest.mark.parametrize(
    ("graph", "formula"),
    [("y: x.max()", "grad(y) * (x == x.max())"), ("y: 'max(x, 0)[0]'", "grad(y) * (x == y)")],
)
def test_the_whole_gradient_to_every_maximum_is_wrong_at_ties(check: Check, graph: str, formula: str) -> None:
    """As everybody writes it: together that adds up to too much, whether the file has a tie or only draws do."""
    drawn = f"dims: {{n: 4}}, inputs: {{x: 'randn(n)'}}, graph: {{{graph}}}, backward: {{y: 'randn([])'}}"
    chosen = f"inputs: {{x: [1, 3, 3, 2]}}, graph: {{{graph}}}, backward: {{y: 2.0}}"
    share = f"{formula} / ({formula.partition(' * ')[2]}).sum()"
    for stated in (drawn, chosen):
        found = check(f"{{{stated}, formulas: {{x: '{formula}'}}}}")
        assert {c.verdict.kind for c in failed(found, "formula") if c.verdict} == {"outside_together"}
        assert check(f"{{{stated}, formulas: {{x: '{share}'}}}}").status == "passed"
        assert (
            check(f"{{{stated}, formulas: {{x: 'where(x > 1000, 0 * x, {share})'}}}}", corrected=False).status
            == "failed"
        )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_kinks_are_judged_in_half_precision_too(check: Check, dtype: str) -> None:
    """However many: points around are so far apart there that a jump must not be taken for a slope."""
    drawn = f"dtype: {dtype}, inputs: {{x: 'zeros(300)'}}, graph: {{y: abs(x)}}, backward: {{y: 'randn(300)'}}"
    found = check(f"{{{drawn}, formulas: {{x: 'grad(y) * where(x < 0, -1.0, 1.0)'}}}}")
    assert found.status == "passed", failed(found)
    assert (
        check(f"{{{drawn}, formulas: {{x: 'grad(y) * where(x < 0, -1.0, 1.5)'}}}}", corrected=False).status == "failed"
    )


@pytest.mark.parametrize(
    "graph",
    [
        "tanh(h)",
        "nn.functional.linear(x, w)",
        "softmax(h, dim=1)",
        "x[tensor([0, 2])] * 2",
        "h.T.flatten().unsqueeze(0)",
        "x * 3",
    ],
)
def test_smooth(graph: str) -> None:
    assert is_smooth(draw(case_of(CASE % graph)))


@pytest.mark.parametrize(
    "graph",
    [
        "relu(h)",
        "h * (x > 0)",
        "where(h > 0, x, w)",
        "nn.functional.relu6(h)",  # by the ops that it is made of
        "h * one_hot(x.argmax(dim=1), 3)",
        "x[argsort(h[0])]",
        "amax(h, dim=1)",
        "x.to(int64) * w",
        "1 / h",
        "sqrt(h * h)",
        "h.norm()",
        "x * h.sort()[0]",
    ],
)
def test_not_smooth(graph: str) -> None:
    assert not is_smooth(draw(case_of(CASE % graph)))


def test_what_the_core_cannot_evaluate_is_not_known_to_be() -> None:
    assert not is_smooth(draw(case_of("{inputs: {x: 'randn(3, 2)'}, graph: {y: x @ x, loss: y.sum()}}")))


def test_a_kink_is_found_behind_smooth_ops(check: Check, with_rules: WithRules) -> None:
    where = TABLE["where"]
    with_rules("relu", lambda g, y, x: where(x >= 0, g, 0 * g))
    case = check("{inputs: {x: [0, 1, -1]}, graph: {h: 2 * x, y: relu(h), loss: (3 * y).sum()}}")
    assert {c.status for c in failed(case, "gradient")} == {"not_differentiable"}


def estimate(left: list[float], right: list[float], kinked: list[bool]) -> Estimate:
    sides = np.array(left), np.array(right)
    return Estimate((sides[0] + sides[1]) / 2, np.zeros(len(left)), *sides, np.array(kinked), "differences")


def judged(got: float, all_seen: bool = True, kinked: bool = True) -> str | None:
    answers = Answer("core", np.array([got])), Answer("torch", np.array([0.0]))
    found = classify_at_kink(FAILED, answers, estimate([0.0], [3.0], [kinked]), Allowance(np.array([1e-10])), all_seen)
    return None if found is None else found.status


@pytest.mark.parametrize(("got", "status"), [(1.0, "not_differentiable"), (3.0, "not_differentiable"), (3.1, "failed")])
def test_between_the_sides(got: float, status: str) -> None:
    assert judged(got) == status


def test_what_was_not_looked_at_is_no_failure() -> None:
    assert judged(1.0, all_seen=False) == "undecided"
    assert judged(3.1, all_seen=False) == "failed"
    assert judged(1.0, kinked=False) is None
