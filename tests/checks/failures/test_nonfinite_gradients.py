"""Gradients that are NaN or infinite in both engines."""

from __future__ import annotations

import math

import pytest

from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.phrases import say
from gradcheck.testing import check_function
from gradcheck.testing.case_checks import CheckFailed
from tests.checks.conftest import Check

ROOT = 'inputs: {x: [4, 0]}\ngraph: {y: "where(x > 0, sqrt(x), 0)", z: y.sum()}\n'


def gradient_of(found: CaseResult, tensor: str = "x") -> Comparison:
    (c,) = [c for c in found.comparisons if c.what is ClaimKind.GRADIENT and c.tensor == tensor]
    return c


def formula_of(found: CaseResult) -> Comparison:
    return next(c for c in found.comparisons if c.what is ClaimKind.FORMULA and c.trial is None)


@pytest.mark.parametrize(
    ("case", "told"),
    [
        (
            ROOT,
            "nan at [1], where x is 0 and the derivative from the left is 0; it arises in the gradient of sqrt at y, "
            "of 0; write y: where(x > 0, sqrt(where(x > 0, x, 1)), 0)",
        ),
        (
            ROOT.replace("0]", "-1]"),
            "nan at [1], where x is -1 and the derivative is 0; it arises in the gradient of sqrt at y, of -1; "
            "write y: where(x > 0, sqrt(where(x > 0, x, 1)), 0)",
        ),
        (
            'inputs: {t: [2, 0]}\ngraph: {k: "where(t == 0, 1, sin(t) / t)", z: k.sum()}',
            "nan at [1], where t is 0 and the derivative is 0; it arises in the gradient of div at k, of 0; "
            "write k: where(t == 0, 1, sin(t) / where(t == 0, 1, t))",
        ),
        (
            'inputs: {p: [2, 0]}\ngraph: {y: "where(p > 0, p * log(p), 0)", z: y.sum()}',
            "nan at [1], where p is 0 and the derivative from the left is 0; it arises in the gradient of mul at y, "
            "of 0; write y: where(p > 0, p * log(where(p > 0, p, 1)), 0)",
        ),
        (
            "inputs: {x: [0, 0]}\ngraph: {z: (x * x).sum().sqrt()}",
            "nan at [0], where x is 0 and every number from -1 to 1 is a subgradient; "
            "it arises in the gradient of sqrt at z, of 0",
        ),
    ],
)
def test_the_reference_is_wrong_where_the_derivative_is_finite(check: Check, case: str, told: str) -> None:
    found = check(case)
    assert found.status == "passed"
    assert found.wrong_references == ("torch",)
    assert found.case is not None
    verdict = gradient_of(found, next(iter(found.case.inputs))).verdict
    assert verdict is not None
    assert say(verdict["what"]) == told


@pytest.mark.parametrize(
    ("case", "told"),
    [
        (
            "inputs: {x: [0, 2]}\ngraph: {z: (x ** 0.5).sum()}",
            "inf at [0], where x is 0; it arises in the gradient of pow at z, of 0",
        ),
        (
            "inputs: {x: [0, 2]}\ngraph: {z: (x * log(x)).sum()}",
            "nan at [0], where x is 0; it arises in the gradient of mul at z, of 0",
        ),
    ],
)
def test_where_there_is_no_derivative_a_note_says_where_it_arises(check: Check, case: str, told: str) -> None:
    found = check(case)
    assert found.wrong_references == ()
    assert [say(note) for note in gradient_of(found).notes if note.kind == "nonfinite_gradient"] == [told]


@pytest.mark.parametrize(
    ("graph", "tensor", "told"),
    [
        ("{a: x * log(x), z: a.sum()}", "a", "nan at [0]; mul makes it of 0 and -inf"),
        ("{a: x + 1, b: sqrt(x - 1), z: b.sum()}", "b", "nan at [0]; sqrt makes it of -1"),
        ("{z: (x.sum() - inf + inf) * x.sum()}", "z", "nan; add makes it of -inf"),
    ],
)
def test_of_values_the_first_nan_is_told(check: Check, graph: str, tensor: str, told: str) -> None:
    found = check(f"inputs: {{x: [0, 2]}}\ngraph: {graph}")
    notes = [(c.tensor, say(note)) for c in found.comparisons for note in c.notes if note.kind == "nan_value"]
    assert notes == [(tensor, told)]


def test_a_formula_that_is_nan_at_the_numbers_of_the_file_fails(check: Check) -> None:
    found = check(ROOT + 'formulas: {x: "where(x > 0, 0.5 / sqrt(x), 0 / x)"}')
    c = formula_of(found)
    assert (found.status, c.status, c.worst_index, c.want) == ("failed", "failed", (1,), 0.0)
    assert math.isnan(c.got or 0.0)
    assert c.diagnoses == ()


@pytest.mark.parametrize(("value", "status"), [("0", "passed"), ("1", "failed")])
def test_a_formula_is_held_to_the_derivative_where_torch_has_none(check: Check, value: str, status: str) -> None:
    formula = f"where(x > 0, 0.5 / sqrt(where(x > 0, x, 1)), {value})"
    found = check(f'{ROOT}formulas: {{x: "{formula}"}}\ngeneralize: false', corrected=False)
    assert formula_of(found).status == status


def test_code_that_is_nan_as_torch_is_fails() -> None:
    torch = pytest.importorskip("torch")
    given = torch.tensor([4.0, -1.0], dtype=torch.float64)
    with pytest.raises(CheckFailed, match="where x is -1 and the derivative is 0"):
        check_function(
            lambda x: torch.where(x > 0, x.sqrt(), torch.zeros_like(x)), x=given, spec="where(x > 0, sqrt(x), 0)"
        )


def test_nothing_is_asked_where_no_oracle_may_be(check: Check) -> None:
    assert check(ROOT, oracle="none").wrong_references == ()


QUARTIC = "graph: {z: sqrt(x ** 4).sum()}\ngeneralize: false\n"
BY_RULE = "4 * x ** 3 / (2 * sqrt(x ** 4))"


def test_a_formula_is_excused_only_if_it_is_right_at_every_such_element(check: Check) -> None:
    root = f"inputs: {{x: [0, 0, 4]}}\nconstants: {{m: [true, false, false]}}\n{QUARTIC}"
    assert check(f'{root}formulas: {{x: "where(m, 0, {BY_RULE})"}}').status == "failed"
    assert check(f"{root}formulas: {{x: 2 * x}}").status == "passed"


def test_an_element_without_a_derivative_hides_no_other(check: Check) -> None:
    root = "inputs: {x: [0, 0, 4]}\nconstants: {p: [1.0, 4.0, 1.0]}\ngraph: {z: sqrt(x ** p).sum()}\n"
    found = check(f"{root}generalize: false\nformulas: {{x: p * x ** (p - 1) / (2 * sqrt(x ** p))}}")
    assert found.status == "failed"
    assert say(formula_of(found).mismatch).startswith("nan at [1], where x is 0 and the derivative is 0")


def test_a_formula_is_judged_after_the_last_of_many_steps(check: Check) -> None:
    steps = "steps: [{backward: z}, {backward: z}, {backward: z}, {backward: z}]\n"
    root = f"inputs: {{x: [0, 4]}}\n{QUARTIC}{steps}"
    assert check(f"{root}formulas: {{x: 4 * {BY_RULE}}}").status == "failed"
    assert check(f"{root}formulas: {{x: 4 * 2 * x}}").status == "passed"


def test_both_parts_of_a_complex_formula_are_judged(check: Check) -> None:
    root = 'dtype: complex128\ninputs: {x: ["1+2j", "0+0j"]}\ngraph: {z: (x.abs() ** 3).sqrt().sum()}\n'
    slope = "1.5 * sqrt(abs(x)) * sgn(x)"
    assert (
        check(f'{root}generalize: false\nformulas: {{x: "where(abs(x) > 0, {slope}, 5j)"}}', corrected=False).status
        == "failed"
    )
    assert check(f"{root}generalize: false\nformulas: {{x: {slope}}}").status == "passed"
