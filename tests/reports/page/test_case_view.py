"""What a page shows of a case: what each thing is called, and that nothing in it is endless."""

from __future__ import annotations

import linecache
from dataclasses import replace
from pathlib import Path

from gradcheck import run
from gradcheck.checks.result import Trial
from gradcheck.errors import Place
from gradcheck.reports.page.case_view import full_view
from tests.reports.conftest import make_case, make_error, make_failed

STEPS = """\
name: steps
inputs: {x: [1.0, 2]}
graph: {y: x * x, s: (y * y).sum()}
let: {gy: 3 * y}
formulas: {y: gy, x: 2 * x * gy}
wrong_formulas: {s: s / s}
"""


def test_a_step_is_called_by_its_own_name(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(STEPS, encoding="utf-8")
    (case,) = run(file, reference="core", engines=["core"], oracle="none", trials=1).cases
    first, second = full_view(case).failures
    assert first.title == "the step gy is wrong; the formulas of y and x only because of it"
    assert first.change is not None
    assert (first.change.key, first.change.old, first.change.new) == ("gy", "3", "2")
    assert [word for word, _ in first.formulas] == ["claimed of gy", "meant, it seems"]
    assert "∇" not in first.formulas[0][1]
    (further,) = first.related_tensors
    assert further[0].startswith("formula for the gradient of x is wrong")
    assert "did you mean  2 * y ?" in first.text
    assert [word for word, _ in second.formulas] == ["claimed to be wrong"]


def test_the_code_of_an_engine_is_shown_and_no_place_that_nobody_wrote(tmp_path: Path) -> None:
    file = tmp_path / "e.py"
    file.write_text("class T:\n    def f(self): ...\n", encoding="utf-8")
    linecache.cache["ipykernel_1/2.py"] = 1, None, ["def g(): ...\n"], ""
    places = (Place(str(file), 2, 5), Place("ipykernel_1/2.py", 1, 1))
    found = [make_failed([1.0], [2.0], tensor=f"t{at}", code=code) for at, code in enumerate(places)]
    found = [one.with_subject(place=Place("nobody wrote it", 1, 104)) for one in found]
    seen = full_view(make_case("a", "failed", comparisons=tuple(found))).failures
    assert {one.where for one in seen} == {""}
    told = {one.code[0]: one.code[1].marked for one in seen if one.code is not None}
    assert told == {f"computed by {file}:2:5": "def f(self): ...", "computed by a cell": "def g(): ..."}


def test_trials_are_told_by_their_sizes() -> None:
    at = [Trial(number, 0, {"n": size}) for number, size in ((1, 3), (2, 5), (3, 3))]
    found = [make_failed([1.0], [2.0], what="formula", formula="x", trial=trial) for trial in (None, *at)]
    (one,) = full_view(make_case("a", "failed", comparisons=tuple(found))).failures
    assert one.same_failures == ("also in trials 1 and 3 (n = 3); 2 (n = 5)",)


def test_marks_are_explained(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    graph = "constants: {c: [1, 2]}\ngraph: {y: x * x * c, s: y.sum()}"
    file.write_text(f"inputs: {{x: [1.0, 2]}}\n{graph}\nformulas: {{x: 3 * x}}\n", encoding="utf-8")
    (case,) = run(file, reference="core", engines=["core"], oracle="none", trials=0).cases
    assert [kind for kind, _, _ in full_view(case).marks] == ["passed", "failed", "root", "constant"]


def test_what_is_very_long_is_cut(tmp_path: Path) -> None:
    """A print, a traceback, a line of numbers."""
    file = tmp_path / "a.yaml"
    file.write_text(f"name: a\ninputs: {{x: [{'1.0, ' * 9000}bad]}}\n", encoding="utf-8")
    error = replace(make_error("crash", "boom", details="T" * 10**6), place=Place(str(file), 2, 45_014))
    case = make_case("a", "crashed", file=str(file), errors=(error,), output={"e": "p" * 10**6 + "end"})
    found = full_view(case)
    assert len(repr((found.failures, found.file, found.engine_output))) < 60_000
    assert found.engine_output[0][1].endswith("end")
    assert found.engine_output[0][1].startswith("… 980003 characters before")
    line = found.failures[0].line
    assert line is not None
    assert (line.before[0], line.marked) == ("…", "bad")
