"""Claims at other numbers and sizes."""

from __future__ import annotations

import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.checks.claims import trials
from gradcheck.reports.phrases import say
from tests.checks.build import context_of
from tests.checks.conftest import Check, failed, those
from tests.conftest import WithRules


def test_formulas_and_engines_are_verified_at_fresh_sizes(check: Check) -> None:
    case = check(
        """
        inputs: {x: [[1, 2]], w: [[3], [4]]}
        graph: {loss: (x @ w).sum()}
        formulas: {x: "ones(x.shape[0], 1) @ w.sum(dim=1, keepdim=True).T"}
        shapes: {x: [n, m], w: [m, k]}
        """
    )
    assert case.status == "passed", failed(case)
    formulas = those(case, "formula")
    assert [c.trial and c.trial.number for c in formulas] == [None, 1, 2, 3]
    sizes = [c.trial.sizes for c in formulas if c.trial]
    assert all(set(s) == {"n", "m", "k"} for s in sizes)
    assert len({tuple(s.values()) for s in sizes}) == 3
    assert {c.trial.number for c in those(case, "gradient") if c.trial} == {1, 2, 3}


def test_a_formula_that_is_right_at_one_size_alone_fails_with_the_sizes(check: Check) -> None:
    case = check(
        """
        inputs: {x: [[1, 2], [3, 4]]}
        graph: {loss: x.mean()}
        formulas: {x: ones_like(x) / 4}
        shapes: {x: [a, b]}
        """
    )
    assert case.status == "failed"
    assert all(c.trial is not None and c.trial.sizes for c in failed(case, "formula"))


def test_a_rule_that_is_wrong_at_some_sizes_alone_is_found_by_a_trial(check: Check, with_rules: WithRules) -> None:
    right = TABLE["tanh"].rules[0]
    assert right is not None
    with_rules("tanh", lambda g, y, x: right(g, y, x) if x.shape[0] == 2 else g)
    case = check(
        """
        inputs: {x: [1.0, 2.0]}
        graph: {loss: tanh(x).sum()}
        checks: ["grad(loss) == 1"]
        shapes: {x: [n]}
        """
    )
    assert case.status == "failed"
    assert {c.what for c in failed(case)} == {"gradient", "node"}
    assert all(c.trial for c in failed(case))


def test_nothing_to_vary_is_said(check: Check) -> None:
    case = check("{inputs: {x: 'arange(2)'}, graph: {loss: x.sum()}, formulas: {x: ones_like(x)}}")
    assert case.status == "passed"
    (formula,) = those(case, "formula")
    assert formula.has_note("at_these_numbers_only")


def test_literals_without_shapes_are_moved_so_that_a_formula_right_at_one_point_fails(check: Check) -> None:
    case = check("{inputs: {x: [2, 2]}, graph: {loss: (x * x * x).sum()}, formulas: {x: [6 * x, 3 * x ** 2]}}")
    wrong, right = those(case, "formula")[-2:]
    assert (wrong.status, right.status) == ("failed", "passed")
    assert wrong.mismatch is not None
    assert wrong.mismatch.kind == "not_at_other_numbers"


def test_a_derivation_that_is_wrong_only_beside_the_numbers_given_is_refuted(check: Check) -> None:
    case = check("{inputs: {x: [2, 2]}, graph: {loss: (x * x).sum()}, wrong_formulas: {x: 4 * ones_like(x)}}")
    assert case.status == "passed"


def test_numbers_that_cannot_be_moved_stay(check: Check) -> None:
    """Beside these the graph is not defined; that is no reproach to the formula."""
    case = check(
        "{inputs: {x: [1.0]}, graph: {loss: acos(x / 1.0000001).sum()},"
        " formulas: {x: '-1 / sqrt(1.0000001 ** 2 - x ** 2)'}}"
    )
    assert case.status == "passed", failed(case)


def test_generalize_false_asks_for_no_trials_and_no_note(check: Check) -> None:
    case = check("{inputs: {x: 'randn(2)'}, graph: {loss: x.sum()}, formulas: {x: ones_like(x)}, generalize: false}")
    (formula,) = those(case, "formula")
    assert (formula.trial, formula.notes) == (None, ())


def test_the_number_of_trials(check: Check) -> None:
    text = "{inputs: {x: 'randn(2)'}, graph: {loss: x.sum()}, formulas: {x: ones_like(x)}, generalize: {trials: 5}}"
    assert len(those(check(text), "formula")) == 6
    assert len(those(check(text, trials=1), "formula")) == 2


def test_trials_that_are_all_nan_verify_nothing_and_say_so(check: Check) -> None:
    case = check(
        """
        inputs: {x: [1.0, 2.0]}
        graph: {loss: sqrt(-1 - x * x).sum()}
        formulas: {x: -x / sqrt(-1 - x * x)}
        shapes: {x: [n]}
        """
    )
    (formula,) = those(case, "formula")
    assert formula.has_note("no_trial")
    assert formula.has_note("at_these_numbers_only")


def test_values_outside_the_domain_are_drawn_again(check: Check) -> None:
    case = check(
        """
        inputs: {x: [1.0]}
        graph: {loss: log(x).sum()}
        formulas: {x: 1 / x}
        shapes: {x: [n]}
        generalize: {dims: {n: [1, 1]}}
        """
    )
    assert case.status == "passed", failed(case)


def test_impossible_sizes_are_drawn_again(check: Check) -> None:
    case = check(
        """
        inputs: {x: [[1, 2], [3, 4]]}
        graph: {y: x @ x, loss: y.sum()}
        formulas: {y: ones_like(y)}
        shapes: {x: [a, b]}
        """
    )
    assert case.status == "passed", failed(case)
    assert all(c.trial.sizes["a"] == c.trial.sizes["b"] for c in those(case, "formula") if c.trial)


def test_checks_in_steps_are_verified_in_trials_too(check: Check) -> None:
    case = check(
        """
        inputs: {x: "randn(n)"}
        dims: {n: 2}
        graph: {loss: (x * x).sum()}
        steps:
          - {backward: loss, checks: ["grad(x) == 2 * x"]}
          - {backward: loss, checks: ["grad(x) == 4 * x", "x.shape[0] == n"]}
        generalize: true
        """
    )
    assert case.status == "passed", failed(case)
    assert {c.step for c in those(case, "check") if c.trial} == {0, 1}


def test_a_symmetric_literal_stays_symmetric(check: Check) -> None:
    case = check(
        """
        inputs: {a: [[[2, 1], [1, 3]], [[4, 0], [0, 1]]]}
        graph: {l: torch.linalg.cholesky(a), loss: "2 * diagonal(l, 0, -2, -1).log().sum()"}
        formulas: {a: inv(a)}
        """
    )
    assert case.status == "passed", failed(case)
    assert {c.trial.number for c in those(case, "formula") if c.trial} == {1}
    case = check(
        "{inputs: {a: [[2, 1], [1, 3]]}, graph: {loss: (a * a).sum()}, formulas: {a: 'tensor([[4, 2], [2, 6]])'}}"
    )
    assert case.status == "failed"


# Wrong formulas --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "refuted"),
    [
        ("2 * x", False),
        ("2.001 * x", True),
        ("x * 2 + 0", False),
        ("x @ x", True),
        ("ones(2)", True),
        ("x + ones_like(x)", True),
    ],
)
def test_wrong_formulas_must_be_refuted(check: Check, wrong: str, refuted: bool) -> None:
    case = check(
        f"""
        inputs: {{x: "rand(3, 2)"}}
        graph: {{loss: (x * x).sum()}}
        wrong_formulas:
          x: {wrong}
        """
    )
    (verdict,) = those(case, "wrong_formula")
    assert (case.status == "passed") == refuted
    assert verdict.place.line == 5
    assert ("refuted" if refuted else "should be refuted, but holds at 4 points") in say(verdict.mismatch)


def test_a_wrong_formula_that_is_right_by_accident_is_refuted_at_other_sizes(check: Check) -> None:
    case = check(
        """
        inputs: {x: [[1, 2], [3, 4]]}
        graph: {loss: x.mean()}
        wrong_formulas: {x: ones_like(x) / 4}
        shapes: {x: [a, b]}
        """
    )
    assert case.status == "passed"
    (verdict,) = those(case, "wrong_formula")
    assert verdict.trial is not None


def test_literals_whose_squares_are_0_become_ordinary(check: Check) -> None:
    graph = "inputs: {x: [1e-200, 2e-200, -3e-200]}, graph: {loss: x.norm()}"
    for formula, status in (("x / x.norm()", "passed"), ("x.norm() / x", "failed"), ("x", "failed")):
        assert check(f"{{{graph}, formulas: {{x: {formula}}}}}", explained=False).status == status


def test_where_an_overflow_excuses_a_formula_nothing_is_known_of_it() -> None:
    """Sides of comparisons are not seen there, and looked for elsewhere."""
    context = context_of("""
        inputs: {x: [1.0e+200, 1.0]}
        constants: {one: [1.0, 1.0]}
        graph: {y: "hypot(x, one)"}
        backward: {y: [1.0, 1.0]}
        formulas: {x: grad(y) * x / sqrt(x * x + 1)}
    """)
    list(trials.check(context))
    assert context.points.variants[0].may_be_off_by_rounding


@pytest.mark.parametrize("graph", ["log(x)", "sqrt(x)", "asin(x)", "acosh(x)", "log(-x)", "atanh(x).exp()", "logit(x)"])
def test_a_graph_that_is_undefined_for_half_of_what_is_drawn_is_verified_at_all_sizes(check: Check, graph: str) -> None:
    """Of many numbers none are in its domain, as they are drawn: such are made."""
    file = (
        "{{dims: {{n: 4}}, inputs: {{x: 'randn(n)'}}, graph: {{y: '{graph}'}}, backward: {{y: 'randn(n)'}}, {claim}}}"
    )
    for factor, status in (("1", "passed"), ("(1 + (n == 17))", "failed")):
        claim = f"formulas: {{x: '({DERIVATIVES[graph]}) * {factor}'}}"
        assert check(file.format(graph=graph, claim=claim), corrected=False).status == status


DERIVATIVES = {
    "log(x)": "grad(y) / x",
    "sqrt(x)": "grad(y) / (2 * y)",
    "asin(x)": "grad(y) / sqrt(1 - x * x)",
    "acosh(x)": "grad(y) / sqrt(x * x - 1)",
    "log(-x)": "grad(y) / x",
    "atanh(x).exp()": "grad(y) * y / (1 - x * x)",
    "logit(x)": "grad(y) / (x * (1 - x))",
}


def test_trials_of_a_tensor_that_is_always_empty_say_nothing_of_nan(check: Check) -> None:
    found = check(
        """
        dims: {n: 3}
        inputs: {x: {values: [], shape: [0]}}
        constants: {A: "randn(n, 0)"}
        graph: {y: A @ x, loss: y.sum()}
        formulas: {x: A.T @ ones(n)}
        """
    )
    assert not any("NaN" in say(note) for c in found.comparisons for note in c.notes)
