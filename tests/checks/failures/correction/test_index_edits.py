"""Slips in indices, slices, subscripts and steps in time, undone."""

from __future__ import annotations

import pytest

from gradcheck.checks.failures.correction import index_edits
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


@pytest.mark.parametrize(
    ("edit", "text", "path", "expected"),
    [
        (index_edits.change_slice, "x[:2]", (1,),
         ["slice(None, 2)", "slice(2, None)", "slice(None, -2)", "slice(-2, None)", "slice(None, n)",
          "slice(n, None)"]),
        (index_edits.change_slice, "x[2:]", (1,), ["slice(1, -1)"]),
        (index_edits.change_slice, "x[1:-1]", (1,), ["slice(None, -2)", "slice(2, None)"]),
        (index_edits.change_index, "v[1] * n", (0, 1), ["0", "2"]),
        (index_edits.change_index, "v[-1] * n", (0, 1), ["-2"]),
        (index_edits.change_index, "x[:, 0]", (1, 1), ["1"]),
        (index_edits.change_index, "n * 2", (1,), []),
        (index_edits.exchange_subscripts, "einsum('ij,j->i', x, v)", (0,), ["'ij,i->j'", "'j,ij->i'"]),
        (index_edits.change_step, "x * grad(x)", (), ["y * grad(x)"]),
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
