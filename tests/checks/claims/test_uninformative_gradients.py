"""Formulas that pass because their case allows too few gradients."""

from __future__ import annotations

import pytest

from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, those

HEAD = "dims: {n: 4, k: 3}\ninputs: {z: 'randn(n, k)'}\n"
SUMMED = "graph: {p: 'softmax(z, dim=1)', loss: p.sum()}\n"
SQUARED = "graph: {p: z * z, loss: p.sum()}\n"
KINDS = ("gradient_is_zero", "incoming_is_one")


@pytest.mark.parametrize(
    ("graph", "formula", "told"),
    [
        (
            SUMMED,
            "p * (grad(p) - 1)",
            [
                "its gradient is 0 for all incoming gradients of this case; "
                "backward: {p: randn_like(p)} asks about others"
            ],
        ),
        (SQUARED, "2 * z * grad(p) ** 2", ["only for grad(p) = 1; backward: {p: randn_like(p)} asks about any"]),
        (SQUARED, "2 * z", []),
        ("graph: {p: z * z}\nbackward: {p: 'randn(n, k)'}\n", "2 * z * grad(p)", []),
        ("graph: {p: z * z, loss: (p * p).sum()}\n", "2 * z * grad(p)", []),
        ("graph: {p: z * 0, loss: p.sum()}\n", "zeros(n, k)", []),
    ],
)  # fmt: skip
def test_it_is_noted(check: Check, graph: str, formula: str, told: list[str]) -> None:
    found = check(f"{HEAD}{graph}formulas: {{z: '{formula}'}}")
    assert found.status == "passed"
    notes = dict.fromkeys(note for c in found.comparisons for note in c.notes if note.kind in KINDS)
    assert [say(note) for note in notes] == told


def test_a_wrong_formula_needs_no_note(check: Check) -> None:
    found = check(f"{HEAD}{SQUARED}formulas: {{z: 3 * z * grad(p)}}")
    assert not any(note.kind in KINDS for c in found.comparisons for note in c.notes)


@pytest.mark.parametrize(
    ("graph", "formula", "status"),
    [
        ("sqrt(x).sum()", "3 * x", "undecided"),
        ("(x * nan).sum()", "3 * x", "undecided"),
        ("sqrt(x).sum()", "0.5 / sqrt(x)", "passed"),  # NaN too
        ("logdet(x[0] * eye(3))", "[1, 0] * 3 / x[0]", "failed"),  # a list is no tensor
        ("logdet(x[0] * eye(3))", "tensor([3.0, 0]) / x[0]", "passed"),  # proved, though NaN
    ],
)
def test_a_formula_that_is_compared_nowhere_does_not_pass(check: Check, graph: str, formula: str, status: str) -> None:
    found = check(f"inputs: {{x: '-uniform(1, 2, [2])'}}\ngraph: {{y: '{graph}'}}\nformulas: {{x: '{formula}'}}")
    assert {c.status for c in found.comparisons if c.formula} == {status}
    assert found.status == ("passed" if status == "passed" else "failed")


def test_a_graph_that_is_nan_at_the_numbers_of_the_file_decides_nothing(check: Check) -> None:
    case = "inputs: {x: [-1.0, -2.0]}\ngraph: {y: sqrt(x).sum()}\nformulas: {x: 1 + 0.5 / sqrt(x.abs())}\n"
    assert {c.status for c in those(check(f"{case}generalize: false"), "formula")} == {"undecided"}
    assert "failed" in {c.status for c in those(check(case), "formula")}


THREE = "inputs: {x: [1.0, 2.0, 3.0]}\ngraph: {y: x * x}\nbackward: {y: [1.0, 1.0, 1.0]}\n"


@pytest.mark.parametrize("text", ["x[5:] == 3", "grad(x)[3:] == 0", "(x[5:] == 3).all()", "grad(x)[x > 100] == 1"])
def test_a_check_of_no_element_is_undecided(check: Check, text: str) -> None:
    case = check(f"{THREE}generalize: false\nchecks: ['{text}']")
    assert case.status == "failed"
    assert {(c.status, say(c.mismatch)) for c in case.comparisons if c.formula} == {
        ("undecided", "nothing was compared: no elements")
    }


@pytest.mark.parametrize(
    "case",
    [
        "inputs: {x: {values: [], shape: [0, 3]}}\ngraph: {y: x * x}\nbackward: {y: ones_like(y)}\n"
        "checks: [grad(x) == 2 * x]",
        "dims: {n: 1}\ninputs: {x: randn(n)}\ngraph: {y: x * x, l: y.sum()}\nchecks: ['grad(x)[1:] == 2 * x[1:]']",
        f"{THREE}checks: ['(x[5:] == 3).all() & (x > 0).all()']\ngeneralize: false",
    ],
)
def test_a_check_of_some_element_or_of_empty_tensors_passes(check: Check, case: str) -> None:
    assert check(case).status == "passed"


def test_a_formula_of_zeros_alone_is_noted(check: Check) -> None:
    head = "inputs: {x: [1e15, 2e15]}\ngraph: {y: sigmoid(x)}\nbackward: {y: [1.0, 1.0]}\ngeneralize: false\n"
    case = check(f"{head}formulas: {{x: 1.01 * grad(y) * y * (1 - y)}}")
    assert case.status == "passed"
    assert any(c.has_note("vanishes_here") for c in case.comparisons)
    right = check(head.replace("1e15, 2e15", "1.0, 2.0") + "formulas: {x: grad(y) * y * (1 - y)}")
    assert not any(c.has_note("vanishes_here") for c in right.comparisons)
