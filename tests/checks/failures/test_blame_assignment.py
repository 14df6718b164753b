"""Failures are heard again: verdicts, conventions at kinks, and values that no subgradient excuses."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gradcheck.checks.failures.blame_assignment import MAX_ELEMENTS
from gradcheck.oracles.numeric.finite_differences import Estimate
from gradcheck.oracles.numeric.numeric_gradient import NumericGradient
from gradcheck.oracles.numeric.work_budget import WorkBudget
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, failed
from tests.conftest import WithForward, WithRules

CHAIN = """
    inputs: {x: "randn(3, 3)", w: "randn(3, 3)"}
    graph: {y: x @ w, h: tanh(y), loss: h.sum()}
"""


# Verdicts ------------------------------------------------------------------------------------------


def test_a_wrong_rule_makes_core_stand_alone(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * (1 - y * y) * 1.000001)
    wrong = failed(check(CHAIN))
    assert {c.what for c in wrong} == {"gradient", "node"}
    for comparison in wrong:
        assert say(comparison.verdict).startswith("core is wrong: torch and high precision agree to ")


def test_a_relative_error_of_1e_9_in_a_well_conditioned_chain_fails(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * (1 - y * y) * (1 + 1e-9))
    case = check(CHAIN)
    assert case.status == "failed"
    assert {c.tensor for c in failed(case, "gradient")} == {"x", "w", "y"}
    assert all(c.status == "failed" for c in failed(case))


def test_a_wrong_formula_stands_alone(check: Check) -> None:
    case = check(CHAIN + "    formulas: {x: (1 - h) @ w.T}\n")
    (own,) = [c for c in failed(case, "formula") if c.trial is None]
    assert say(own.verdict).startswith("the formula is wrong: torch, core and complex step agree to ")
    in_trials = [c for c in failed(case, "formula") if c.trial is not None and not c.mismatch]
    assert all(say(c.verdict).startswith("the formula is wrong: torch, core and ") for c in in_trials)


def test_at_trials_one_element_shows_what_is_known(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    partials = NumericGradient.partials

    def counted(self: NumericGradient, indices: Iterable[int], budget: WorkBudget | None = None) -> Estimate:
        asked.append(len(listed := list(indices)))
        return partials(self, listed, budget)

    monkeypatch.setattr(NumericGradient, "partials", counted)
    case = check(CHAIN + "    formulas: {x: (1 - h) @ w.T}\n")
    in_trials = [c for c in failed(case, "formula") if c.trial is not None and c.verdict is not None]
    assert asked[0] == MAX_ELEMENTS
    assert len(in_trials) > 1
    assert asked[1 : 1 + len(in_trials)] == [1] * len(in_trials)


@pytest.mark.parametrize("off", [2.5e-4, 5e-4, 0.99e-3, 1e-3, 1.01e-3, 1.5e-3, 2e-3, 4e-3])
def test_at_trials_it_is_blamed_however_little_it_is_off(check: Check, off: float) -> None:
    """By more, or less, or just as much as is ever allowed of rounding, a thousandth of the incoming gradient here."""
    case = check(
        "{inputs: {x: 'uniform(0.1, 0.4, [3])'}, graph: {y: x * x}, backward: {y: ones(3)},"
        f" formulas: {{x: 2 * x * grad(y) + {off}}}}}"
    )
    assert len(failed(case, "formula")) > 3
    for c in failed(case, "formula"):
        assert say(c.verdict).startswith("the formula is wrong: torch, core and ")


def test_what_shares_an_algorithm_with_a_formula_is_no_witness_of_it(check: Check, with_forward: WithForward) -> None:
    """The formula's inverse is the core's own, wrong in both."""
    with_forward("linalg.inv", lambda forward: lambda matrix: 1.01 * forward(matrix))
    case = check("""
        inputs: {x: [[3, 1, 0.5], [0.25, 2, 1], [0.75, -1, 4]]}
        graph: {y: logdet(x)}
        formulas: {x: inv(x).T}
        generalize: false
    """)
    (own,) = failed(case, "formula")
    assert say(own.verdict).startswith("the formula is wrong: torch and differences agree to ")


def test_a_wrong_number_in_the_file_stands_alone(check: Check) -> None:
    case = check("{inputs: {x: [1, 2]}, graph: {loss: (x * x).sum()}, expected: {x: [2, 5]}, values: {loss: 6}}")
    gradients, values = failed(case, "expected"), failed(case, "expected_value")
    assert [say(c.verdict) for c in gradients if c.engine == "core"] == [
        "the file is wrong: core, torch and complex step agree exactly"
    ]
    assert [say(c.verdict) for c in values if c.engine == "core"] == ["the file is wrong: core and torch agree exactly"]


def test_torch_may_stand_alone(check: Check) -> None:
    """Its gradient of a singular matrix' determinant is 0."""
    case = check("{inputs: {x: [[0, 0, 0], [0, 0, 1], [0, 1, 2]]}, graph: {loss: linalg.det(x)}}")
    assert case.status == "passed"
    (gradient,) = [c for c in case.comparisons if c.what == "gradient" and c.verdict]
    assert (gradient.status, gradient.tensor) == ("passed", "x")
    told = "no failure, torch is wrong here: torch and core differ, complex step sides with core"
    assert say(gradient.verdict).startswith(told)


def test_a_file_that_knows_better_is_a_witness(check: Check, with_rules: WithRules) -> None:
    with_rules("square", lambda g, y, x: g * x)
    case = check("{inputs: {x: [1, 2]}, graph: {y: x.square(), loss: y.sum()}, expected: {x: [2, 4]}}")
    verdicts = {say(c.verdict) for c in failed(case, "gradient") if c.tensor == "x"}
    assert verdicts == {"core is wrong: torch, the file and complex step agree exactly"}


def test_a_wrong_value_has_its_verdict(check: Check, with_forward: WithForward) -> None:
    with_forward("tanh", lambda forward: lambda x: forward(x) * 1.01)
    values = "{y: [0.761594155955765, 0.964027580075817]}"
    case = check(f"{{inputs: {{x: [1, 2]}}, graph: {{y: tanh(x), loss: y.sum()}}, values: {values}}}")
    (value,) = [c for c in failed(case, "value") if c.tensor == "y"]
    assert say(value.verdict).startswith("core is wrong: torch and the file agree")


def test_nobody_is_asked_where_the_run_says_so(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * (1 - y * y) * 1.01)
    assert not any(c.verdict for c in failed(check(CHAIN, oracle="none")))


@pytest.mark.parametrize("formula", ["(u + 3) * grad(h) / h", "grad(s) * (u + 3) / h"])
def test_a_formula_made_of_the_references_gradients_is_no_witness(check: Check, formula: str) -> None:
    """Torch's slope of hardsigmoid is 1/6 in single precision, in double precision too."""
    graph = "graph: {h: 'torch.hypot(x, u + 3)', s: h + 0, y: hardsigmoid(s)}, backward: {y: [1, 2]}"
    found = check(f"{{inputs: {{x: [1, 0.5], u: [-1, -2]}}, {graph}, formulas: {{u: '{formula}'}}}}")
    assert found.status == "passed", failed(found)
    assert found.wrong_references == ("torch",)


def test_however_many_gradients_torch_is_wrong_about(check: Check) -> None:
    """Its 1/6 in the gradient of `hardsigmoid` is in single precision, and so is every gradient behind it."""
    behind = ", ".join(f"h{i}: sin(h{i - 1})" for i in range(1, 15))
    found = check(
        f"{{inputs: {{x: [0.3, -0.8]}}, graph: {{h0: tanh(x), {behind}, y: hardsigmoid(h14)}},"
        " backward: {y: [1, 2]}, formulas: {x: grad(h0) * (1 - h0 ** 2)}, generalize: false}"
    )
    assert found.status == "passed"
    assert found.wrong_references == ("torch",)


@pytest.mark.parametrize(
    ("graph", "formula", "status"),
    [
        (
            "h: x * sigmoid(x), p: selu(h), y: hardsigmoid(p)",
            "grad(h) * sigmoid(x) * (1 + x * (1 - sigmoid(x)))",
            "passed",
        ),
        ("h: sigmoid(x), p: hardsigmoid(h), y: p ** 2", "grad(h) * (1 - h) * h", "passed"),
        ("h: sigmoid(x), p: hardsigmoid(h), y: p ** 2", "grad(h) * (1 - h) * h * 1.0000001", "failed"),
    ],
    ids=["at a kink", "where nobody can tell", "a wrong formula"],
)
def test_where_torch_is_wrong_at_numbers_that_nobody_chose(check: Check, graph: str, formula: str, status: str) -> None:
    """Outside of the subgradients by as much, or by as much as elsewhere where differences say nothing."""
    text = f"dims: {{n: 2}}, inputs: {{x: randn(n)}}, graph: {{{graph}}}, backward: {{y: randn_like(y)}}"
    assert check(f"{{{text}, formulas: {{x: {formula}}}}}").status == status


@pytest.mark.parametrize("first", ["leaky_relu(x)", "relu(x)", "abs(x)"])
def test_beside_a_kink_torch_may_be_wrong_too(check: Check, first: str) -> None:
    """At 0 each has a subgradient; elsewhere torch's sixth is in single precision."""
    case = check(f"""
        inputs: {{x: [0.0, 1.0, -2.0, 0.0, 2.5]}}
        graph: {{h: {first}, y: hardsigmoid(h)}}
        backward: {{y: [1.0, 2.0, 3.0, 4.0, 5.0]}}
    """)
    assert case.status == "passed"
    assert case.wrong_references == ("torch",)


def test_beside_a_kink_a_wrong_rule_fails(check: Check, with_rules: WithRules) -> None:
    with_rules("exp", lambda g, y, x: g * y * 1.0001)
    case = check("{inputs: {x: [0.0, 1.0, -2.0]}, graph: {y: exp(leaky_relu(x))}, backward: {y: [1.0, 2, 3]}}")
    assert case.status == "failed"


@pytest.mark.parametrize(
    ("graph", "right"),
    [("floor(x) + x", "1"), ("frac(x) * x", "x + frac(x)"), ("fmod(x, 3) * x", "x + fmod(x, 3)")],
)
def test_differences_over_jumps_witness_for_no_wrong_formula(check: Check, graph: str, right: str) -> None:
    case = f"inputs: {{x: [-30000000.3, 20000000.3, 1.5]}}\ngraph: {{y: '({graph}).sum()'}}\ngeneralize: false\n"
    assert check(f"{case}formulas: {{x: '{right} + 0 * x'}}").status == "passed"
    assert check(f"{case}formulas: {{x: '{right} + (abs(x) > 1e7)'}}").status == "failed"
