"""What was forgotten, put in."""

from __future__ import annotations

import pytest

from gradcheck.checks.failures.correction import further_edits
from gradcheck.checks.failures.correction.edits import EditRule
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check
from tests.checks.failures.correction.test_edits import made

RECURRENCE = """
    inputs: {a: 0.4, h0: [0.5, -1.0], b: [1.5, 2.0]}
    constants: {u: [0.7, -0.2, 1.1]}
    graph:
      h1: a * h0 + u[0] * b
      h2: a * h1 + u[1] * b
      h3: a * h2 + u[2] * b
    backward: {h3: "randn(2)"}
"""
NORM = """
    dims: {n: 3, d: 4}
    inputs: {x: "randn(n, d)"}
    constants: {g: randn(d)}
    graph: {mu: "x.mean(dim=1, keepdim=True)", y: (x - mu) * g}
    backward: {y: "randn(n, d)"}
"""


@pytest.mark.parametrize(
    ("edit", "text", "path", "expected"),
    [
        (further_edits.add_missing_function, "x", (), ["abs(x)"]),
        (further_edits.add_missing_function, "abs(x)", (0,), []),
        (further_edits.add_missing_function, "x * y", (), []),
        (further_edits.add_missing_term, "x", (), ["x + x * y", "x - y"]),
        (further_edits.add_missing_term, "x * y + x", (), ["x * y + x - y"]),
        (further_edits.add_missing_term, "x + y", (0,), []),
        (further_edits.add_missing_condition, "x * y", (), ["where(x < 9, x * y, 0)", "where(v == 0, 0, x * y)"]),
        (further_edits.add_missing_condition, "v", (), ["where(v == 0, 0, v)"]),
        (further_edits.add_missing_condition, "exp(x)", (0,), []),
        (further_edits.add_missing_condition, "x * y", (0,), []),
        (further_edits.symmetrise, "A", (), ["A + A.T", "(A + A.T) / 2"]),
        (further_edits.symmetrise, "2 * A @ v", (0,), ["A + A.T"]),
        (further_edits.symmetrise, "x", (), []),
        (further_edits.add_missing_sum, "v", (), ["sum(v, dim=0)", "sum(v, dim=0, keepdim=True)"]),
    ],
)
def test_what_is_put_in(edit: EditRule, text: str, path: tuple[int, ...], expected: list[str]) -> None:
    assert made(edit, text, path) == expected


def test_a_dropped_factor_is_elementwise_or_of_a_product_of_matrices() -> None:
    assert made(further_edits.add_missing_factor, "v") == ["v * v", "v / v"]
    products = {text for text in made(further_edits.add_missing_factor, "x") if "@" in text}
    assert products == {"x @ x.T", "x.T @ x", "x @ y.T", "y.T @ x", "x @ A", "x @ A.T"}


def test_a_factor_of_elements_is_dropped_in_a_sum_or_a_product_of_matrices() -> None:
    within_sum = made(further_edits.add_missing_factor, "x.sum(dim=0)", (0,), ["x - y"])
    assert within_sum == ["x * x", "x * y", "x * (x - y)"]
    assert "x * y" in made(further_edits.add_missing_factor, "x @ A", (0,))
    assert "A * v[:, None]" in made(further_edits.add_missing_factor, "A.sum(dim=0)", (0,))


def test_a_tensor_is_completed_to_a_sum_of_the_graph() -> None:
    parts = ["x - y", "y / x", "2 * x"]
    assert made(further_edits.complete_tensor, "x * y", (0,), parts) == ["x - y"]
    assert made(further_edits.complete_tensor, "v * y", (0,), parts) == []
    assert "(x + y) / (x - y)" in made(further_edits.add_missing_factor, "x + y", (), parts)


@pytest.mark.parametrize(
    ("edit", "text", "path", "expected"),
    [
        (further_edits.change_slice, "x[:2]", (1,),
         ["slice(None, 2)", "slice(2, None)", "slice(None, -2)", "slice(-2, None)", "slice(None, n)",
          "slice(n, None)"]),
        (further_edits.change_slice, "x[2:]", (1,), ["slice(1, -1)"]),
        (further_edits.change_slice, "x[1:-1]", (1,), ["slice(None, -2)", "slice(2, None)"]),
        (further_edits.change_index, "v[1] * n", (0, 1), ["0", "2"]),
        (further_edits.change_index, "v[-1] * n", (0, 1), ["-2"]),
        (further_edits.change_index, "x[:, 0]", (1, 1), ["1"]),
        (further_edits.change_index, "n * 2", (1,), []),
        (further_edits.exchange_subscripts, "einsum('ij,j->i', x, v)", (0,), ["'ij,i->j'", "'j,ij->i'"]),
        (further_edits.change_step, "x * grad(x)", (), ["y * grad(x)"]),
    ],
)  # fmt: skip
def test_what_an_edit_makes(edit: EditRule, text: str, path: tuple[int, ...], expected: list[str]) -> None:
    found = made(edit, text, path, before={"x": "y"})
    assert set(expected) <= set(found)
    assert bool(found) == bool(expected)


@pytest.mark.parametrize(
    ("formula", "meant", "words"),
    [
        ("a: grad(h1) @ h1 + grad(h2) @ h2 + grad(h3) @ h3", "grad(h1) @ h0 + grad(h2) @ h1 + grad(h3) @ h2", ""),
        ("b: grad(h1) * u[1] + grad(h2) * u[1] + grad(h3) * u[2]",
         "grad(h1) * u[0] + grad(h2) * u[1] + grad(h3) * u[2]", "u[1] stands where u[0] belongs"),
        ("h1: a * grad(h3)", "a * grad(h2)", "grad(h3) stands where grad(h2) belongs"),
    ],
)  # fmt: skip
def test_a_step_in_time_is_corrected(check: Check, formula: str, meant: str, words: str) -> None:
    case = check(f"{RECURRENCE}    formulas:\n      {formula}\n")
    (failed,) = [c for c in case.comparisons if c.status == "failed" and c.diagnoses]
    cause, correction = failed.diagnoses[:2]
    assert correction.formula == meant
    assert words in say(cause.message)


@pytest.mark.parametrize(
    ("edit", "text", "path", "expected"),
    [
        (further_edits.change_tensor_throughout, "x * exp(x)", (),
         ["y * exp(y)"]),
        (further_edits.scale_tensor_throughout, "x * exp(x)", (), ["x * y * exp(x * y)", "x * v * exp(x * v)"]),
        (further_edits.change_tensor_throughout, "x * exp(y)", (), []),
        (further_edits.change_tensor_throughout, "x * exp(x)", (1,), []),
        (further_edits.change_tensor_throughout, "x * (1 - x) / x", (0,), ["y * (1 - y)"]),
        (further_edits.exchange_tensors, "x - 2 * y * v", (), ["y - 2 * x * v"]),
        (further_edits.exchange_tensors, "x - y", (0,), []),
        (further_edits.change_reductions, "x - x.mean(dim=0) - y.mean(dim=0)", (),
         ["x - mean(x, dim=0) - mean(y, dim=0)", "x - mean(x, dim=1) - mean(y, dim=1)",
          "x - sum(x, dim=0) - sum(y, dim=0)"]),
        (further_edits.change_reductions, "x - x.mean(dim=0)", (), []),
    ],
)  # fmt: skip
def test_edits_of_a_whole_formula(edit: EditRule, text: str, path: tuple[int, ...], expected: list[str]) -> None:
    found = made(edit, text, path)
    assert set(expected) <= set(found)
    assert bool(found) == bool(expected)


def test_a_factor_that_is_forgotten_everywhere_is_put_in_and_named(check: Check) -> None:
    formula = "grad(y) - grad(y).mean(dim=1, keepdim=True)"
    case = check(f"{NORM}    formulas: {{x: '{formula}'}}\n")
    (failed,) = [c for c in case.comparisons if c.status == "failed" and c.diagnoses]
    cause, correction = failed.diagnoses[:2]
    assert (cause.kind, cause.message["factor"]) == ("factor_of_tensor", "g")
    assert correction.formula == "grad(y) * g - (grad(y) * g).mean(dim=1, keepdim=True)"
