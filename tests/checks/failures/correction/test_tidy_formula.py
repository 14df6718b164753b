"""Formulas as a person would write them: shorter, and divided by nothing new."""

from __future__ import annotations

import pytest

from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.failures.correction import tidy_formula
from gradcheck.checks.failures.correction.edit_position import operands_of
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool
from gradcheck.checks.failures.correction.formula_search import FormulaSearch
from gradcheck.checks.failures.correction.tidy_formula import (
    DerivedFormulas,
    Tidier,
    count_subtracted_sums,
    has_constant_condition,
    simplifier_at,
    with_named_numbers,
)
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from tests.checks.build import context_of
from tests.checks.conftest import Check, failed
from tests.from_text import case_of

SQUARE = """
    dims: {n: 4, m: 3}
    inputs: {x: "randn(n, m)", b: "randn(m, 2)"}
    graph: {y: x * x, z: x @ b}
    backward: {y: randn_like(y), z: randn_like(z)}
"""

LOSS = "{inputs: {x: randn(3)}, graph: {y: x * x, loss: tanh(y).sum()}%s}"


def test_by_way_of_other_gradients_and_by_inputs_alone() -> None:
    of = DerivedFormulas(case_of(LOSS % ""))
    assert [to_text(expr) for expr in of.of("x")] == ["2 * grad(y) * x", "2 * (1 - tanh(y) ** 2) * x"]
    assert of.of("z") == of.without_shared_steps("z") == []


def test_large_graphs_are_not_derived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidy_formula, "MAX_GRAPH", 3)
    assert DerivedFormulas(case_of(LOSS % "")).of("x") == []


def test_steps_and_formulas_that_are_wrong_share_them(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    explain = tidy_formula.explain
    monkeypatch.setattr(tidy_formula, "explain", lambda *a, expand: asked.append(expand) or explain(*a, expand=expand))
    found = check(LOSS % ", let: {d: 1 - tanh(y)}, formulas: {x: 3 * x * d}")
    assert failed(found, "formula")
    assert asked == [False, True]


@pytest.mark.parametrize(("name", "formula"), [("y", "pi * x / sqrt(2 * pi)"), ("pi", "3.141592653589793 * x / 2.5")])
def test_numbers_have_names_unless_a_tensor_is_called_pi(name: str, formula: str) -> None:
    case = case_of(f"{{inputs: {{x: 0.3}}, graph: {{{name}: sin(x)}}}}")
    expr = parse("3.141592653589793 * x / 2.5066282746310002 + 0.6931471805599453")
    assert to_text(with_named_numbers(expr, case)).startswith(formula)


def test_roots_in_rules_have_names() -> None:
    expr = parse("1.1283791670955126 * x / 1.4142135623730951 + 1.7320508075688772")
    assert to_text(with_named_numbers(expr, case_of(LOSS % ""))) == "2 / sqrt(pi) * x / sqrt(2) + sqrt(3)"


def tidied(right: str, written: str, known: str = "x") -> list[str]:
    """How a formula is tidied that comes to what another one does."""
    context = context_of(SQUARE)
    own = context.points.own
    scope = own.scope(own.last_step)
    pool = ExpressionPool(scope, scope.gradients)
    want = pool.array(pool.add(parse(right)))
    assert want is not None
    search = FormulaSearch(pool, operands_of(pool, context.case, "x", ()), pool.add(parse(known)), want, 1_000)
    tidier = Tidier(pool, search.fits, [parse(known)], simplifier_at([own], context.case))
    return [to_text(expr) for expr in tidier.tidy_forms(pool.add(parse(written)))]


def test_parts_that_do_nothing_go() -> None:
    assert tidied("2 * x * grad(y)", "2 * x * grad(y) * isfinite(log(y))")[0] == "2 * x * grad(y)"
    assert tidied("2 * x", "where(sqrt(-(x * x)) == x, 5 + 0 * x, 2 * x)")[0] == "2 * x"


def test_numbers_and_sizes_cancel_and_signs_meet() -> None:
    assert tidied("grad(z) @ b.T", "2 * grad(z) @ b.T / 2")[0] == "grad(z) @ b.T"
    assert tidied("2 * x * grad(y)", "-(-2 * x * grad(y))")[0] == "2 * x * grad(y)"
    assert tidied("2 * x", "2 * x / n * n")[0] == "2 * x"


def test_what_is_no_shorter_stays_in_its_own_order() -> None:
    assert tidied("2 * x * grad(y)", "grad(y) * x * 2") == ["grad(y) * x * 2"]


def test_nothing_is_divided_by_a_tensor_that_nobody_divides_by() -> None:
    assert tidied("2 * grad(y) * x", "2 / x * grad(y) * y") == []
    assert tidied("2 * grad(y) * x", "2 * x ** -1 * grad(y) * y") == []
    assert tidied("2 * grad(y) * x", "2 / x * grad(y) * y", "grad(y) / x") == ["2 / x * grad(y) * y"]
    assert tidied("grad(y) / n", "grad(y) / n") == ["grad(y) / n"]


def test_what_is_multiplied_and_divided_by_cancels() -> None:
    assert tidied("grad(y) / n", "grad(y) * x / n / x")[0] == "grad(y) / n"
    assert tidied("2 * grad(y)", "2 * (x * grad(y)) / x")[0] == "2 * grad(y)"


def test_no_part_of_a_suggestion_does_nothing(check: Check) -> None:
    """Not a tensor in a comparison that then never holds: `grad(y) == floor(2 * x)`."""
    right = "grad(y) * ((x >= -0.5) & (x <= 0.8))"
    case = check(
        "{inputs: {x: [0.8, -0.3, 2.0, -1.0]}, graph: {y: 'clamp(x, -0.5, 0.8)'}, backward: {y: [1.0, 2.0, 3.0, 4.0]},"
        f" formulas: {{x: '({right}) * (1 + (2*x == floor(2*x)))'}}}}"
    )
    assert right in {d.formula for c in case.comparisons for d in c.diagnoses}


def test_nobody_asks_what_comes_out_alike_everywhere() -> None:
    context = context_of(SQUARE)
    own = context.points.own
    held = [StepClaims(own, own.last_step, context.options.tolerance)]
    wrong = parse("2 * x * (x == 0.25)")
    assert has_constant_condition(parse("2 * x * (2 * grad(y) == floor(2 * x))"), wrong, held)
    assert not has_constant_condition(parse("2 * x * (x > 0)"), wrong, held)
    assert not has_constant_condition(parse("2 * x + (x == 0.25)"), wrong, held)  # as it is written


def test_only_the_changed_part_is_simplified() -> None:
    known = "sum(x * grad(y)) * x - 2 * -grad(y)"
    right = "sum(x * grad(y)) * x - 3 * -grad(y)"
    assert tidied(right, right, known) == [right]
    assert tidied("x + grad(y)", "x - (x - (x + grad(y)))", "x - y")[0] == "x + grad(y)"


def test_products_are_written_from_left_to_right() -> None:
    assert tidied("2 * x * grad(y)", "2 * (x * grad(y))", "2 * x") == ["2 * x * grad(y)"]


def test_a_quotient_of_what_it_is_divided_by_cancels() -> None:
    assert tidied("1 / (1 + x)", "x / (1 + x) / x", "x / (1 + x)")[0] == "1 / (1 + x)"


def test_a_term_that_is_added_and_taken_away_goes() -> None:
    assert tidied("x * x + 2 * x", "x * x + grad(y) - grad(y) + 2 * x", "x * x + grad(y) - x")[0] == "x * x + 2 * x"


def test_an_operation_is_not_saved_by_an_op_that_nobody_wrote() -> None:
    known = "(x * grad(y)).mean() * x"
    right = "sum(x * grad(y)) * x"
    assert tidied(right, right, known) == [right]


def test_sums_behind_a_minus_are_counted() -> None:
    assert [count_subtracted_sums(parse(text)) for text in ("-(x + y)", "x - (y - (x + 1))", "x - y", "-x")] == [
        1,
        2,
        0,
        0,
    ]
