"""Why formulas are wrong: said only where it holds wherever the formula is looked at, and the same under every seed."""

from __future__ import annotations

import pytest

from gradcheck.checks.failures.formula_diagnoses import MAX_FORMULAS
from gradcheck.checks.result import CaseResult
from tests.checks.conftest import Check

SEEDS = (0, 1, 2, 5)


def told(case: CaseResult) -> dict[str, list[tuple[str, str]]]:
    """By formula: the kinds of diagnoses, and what is suggested."""
    found: dict[str, list[tuple[str, str]]] = {}
    for c in case.comparisons:
        for d in c.diagnoses:
            if d.kind != "counterexample":
                found.setdefault(c.formula, []).append((d.kind, d.formula))
    return found


def one(graph: str, formulas: str) -> str:
    return f"""
        dims: {{n: 4}}
        inputs: {{x: randn(n)}}
        graph: {{y: {graph}}}
        backward: {{y: randn(n)}}
        formulas: {{x: {formulas}}}
    """


@pytest.mark.parametrize(
    ("graph", "formulas"),
    [
        ("x * abs(x)", "['2 * x * grad(y)', x * grad(y)]"),  # right where x is positive, a wrong sign where negative
        ("relu6(x)", "['grad(y) * (x < 6)']"),  # the incoming gradient as it is, but for what is beyond 6
        ("'where(abs(x) < 1, x * x / 2, abs(x) - 0.5)'", "[x * grad(y)]"),  # right in the middle
    ],
)
def test_what_is_told_of_a_formula_is_the_same_under_every_seed(check: Check, graph: str, formulas: str) -> None:
    found = [told(check(one(graph, formulas), seed=seed)) for seed in SEEDS]
    assert found[0]
    assert all(other == found[0] for other in found)


def test_a_reason_that_some_numbers_refute_is_none(check: Check) -> None:
    """Beyond 6, which no draw reaches, the formula does not pass on what comes in."""
    case = check(one("relu6(x)", "'grad(y) * (x < 6)'"))
    assert next(kind for kind, _ in told(case)["grad(y) * (x < 6)"]) == "unknown"


def test_a_formula_that_is_wrong_in_trials_alone_has_a_reason_too(check: Check) -> None:
    case = check("""
        dims: {n: 1}
        inputs: {x: randn(n)}
        graph: {y: x.mean()}
        formulas: {x: ["ones(n)", "2 * ones(n)"]}
    """)
    assert {kind for listed in told(case).values() for kind, _ in listed} >= {"factor"}
    assert all(listed[0][0] == "factor" for listed in told(case).values())


def test_so_many_are_explained_in_the_file_s_order(check: Check) -> None:
    wrong = [f"{k} * x * grad(y)" for k in range(3, 4 + MAX_FORMULAS)]
    found = told(check(one("x * x", str(wrong)), corrected=False))
    assert list(found) == wrong[:MAX_FORMULAS]
