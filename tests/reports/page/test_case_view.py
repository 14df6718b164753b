"""What a page shows of a case: what each thing is called, and that nothing in it is endless."""

from __future__ import annotations

import linecache
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcheck import load, run
from gradcheck.autograd.trace import summarize
from gradcheck.checks.result import CaseResult, RunResult, Trial
from gradcheck.errors import Place
from gradcheck.facts import fact
from gradcheck.language.case import Case
from gradcheck.language.loader import load_text
from gradcheck.reports import render
from gradcheck.reports.page import case_view
from gradcheck.reports.page import case_view as module
from gradcheck.reports.page.case_view import (
    array_statistics,
    case_diagram,
    full_view,
    tensor_summaries,
    tensor_verdicts,
)
from tests.reports.conftest import make_case, make_error, make_failed

STEPS = """\
name: steps
inputs: {x: [1.0, 2]}
graph: {y: x * x, s: (y * y).sum()}
let: {gy: 3 * y}
formulas: {y: gy, x: 2 * x * gy}
wrong_formulas: {s: s / s}
"""
TEXT = """\
name: a
inputs: {x: [1.0, 2]}
constants: {c: [3, 4.0]}
graph: {y: x * c, s: y.sum()}
formulas: {x: 2 * c}
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


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("cases") / "a.yaml"
    found.write_text(TEXT, encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def failed(file: Path) -> CaseResult:
    (case,) = run(file, reference="core", engines=["core"], oracle="none").cases
    return case


def told(case: CaseResult) -> dict[str, tuple[str, tuple[str, ...]]]:
    graph = case_diagram(case)
    assert graph is not None
    return {node.name: (node.verdict, node.details) for node in graph.nodes}


def test_a_wrong_formula_is_at_its_tensor(failed: CaseResult) -> None:
    found = told(failed)
    assert [found[name][0] for name in "xcys"] == ["failed", "unknown", "passed", "passed"]
    assert "value: [2] float64, from 1 to 2, norm 2.24" in found["x"][1]
    assert "gradient: [2] float64, from 3 to 4, norm 5" in found["x"][1]
    assert any("formula for the gradient of x" in line for line in found["x"][1])


def test_where_it_goes_wrong_first(comparison: Any) -> None:
    origin = fact("op_at", op="mul", entry="y")
    lead = comparison("gradient", "x", "failed", cause=("", ""))
    lead = replace(lead, cause=replace(lead.cause, origin=origin))
    follows = replace(comparison("gradient", "z", "failed"), consequence_of=origin)
    found = tensor_verdicts(
        CaseResult("a", "a", "a", "failed", comparisons=(lead, follows, comparison("value", "m[0]")))
    )
    assert found == {"y": "faulty", "x": "follows", "z": "follows", "m": "passed"}
    raised = replace(comparison("raises", "", "failed", cause=("", "")), cause=lead.cause)
    assert tensor_verdicts(CaseResult("a", "a", "a", "failed", comparisons=(raised,))) == {"y": "faulty"}


def test_numbers_are_those_of_whoever_differs(failed: CaseResult, comparison: Any) -> None:
    """Not the core's, of which nobody asked: an engine's own, beside those of whom it differs from."""
    wrong = comparison(
        "gradient", "x", "failed", engine="mine", got_array=np.array([0.0, np.nan]), want_array=np.ones(2)
    )
    found = told(replace(failed, comparisons=(wrong, comparison("value", "y", engine="mine"))))
    assert [line for line in found["x"][1] if line.startswith(("value", "gradient by", "gradient:"))] == [
        "value: [2] float64, from 1 to 2, norm 2.24",
        "gradient by mine: [2] float64, 0, 1 NaN or infinite",
        "gradient by torch: [2] float64, 1",
    ]
    assert found["y"][1][1:] == (
        "value: [2] float64, from 3 to 8, norm 8.54",
        "gradient by core: [2] float64, 1",
        "right: value",
    )


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array(2.5), "scalar float64, 2.5"),
        (np.array(np.nan), "scalar float64, nan"),
        (np.full((2, 3), np.inf), "[2, 3] float64, NaN or infinite everywhere"),
        (np.array([1.0, 4, np.nan]), "[3] float64, from 1 to 4, 1 NaN or infinite"),
        (np.ones((0, 3)), "[0, 3] float64, without elements"),
        (np.array([3.0, 4]), "[2] float64, from 3 to 4, norm 5"),
    ],
)
def test_statistics(array: np.ndarray, text: str) -> None:
    assert array_statistics(summarize(array)) == text


def test_what_is_lean_is_shown_all_the_same(failed: CaseResult) -> None:
    """From workers or a cache: without arrays; and without the case itself, from whoever has it no more."""
    lean = replace(failed, comparisons=tuple(replace(c, got_array=None, want_array=None, mask=None) for c in
                                             failed.comparisons))  # fmt: skip
    assert told(lean)["x"][0] == "failed"
    assert full_view(lean).failures[0].heat is None
    assert full_view(replace(lean, case=None)).graph == ""
    assert "the formula of x is wrong" in render(RunResult((replace(lean, case=None),), 0.1, {}), "html")


def test_large_tensors_are_not_computed_again(failed: CaseResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_view, "MOST_ELEMENTS", 1)
    assert "shape [2] float64" in told(failed)["x"][1]
    monkeypatch.setattr(case_view, "MOST_NODES", 2)
    graph = case_diagram(failed)
    assert graph is not None
    assert graph.omitted_nodes == 2


def test_results_have_their_case_in_the_dtype_of_the_run(file: Path) -> None:
    (case,), _ = load([file])
    (found,) = run(file, reference="core", engines=["core"], dtype="float32").cases
    assert found.case is not None
    assert found.case.dtype == "float32"
    assert found.case.graph == case.graph


def case_of(text: str) -> Case:
    (case,), errors = load_text(text, "a.yaml")
    assert not errors
    return case


CHAIN = case_of("{inputs: {x: [1, -2]}, constants: {c: [3, 4]}, graph: {y: x * c, loss: y.sum()}}")


def test_values_and_gradients_of_all_names() -> None:
    seen = tensor_summaries(CHAIN)
    assert set(seen) == {"x", "c", "y", "loss"}
    assert (seen["y"].value.low, seen["y"].value.high) == (-8, 3)
    assert seen["x"].gradient is not None
    assert np.array_equal(seen["x"].gradient.array, [3, 4])  # type: ignore[arg-type]
    assert seen["c"].gradient is None


def test_a_graph_that_raises_leaves_its_leaves() -> None:
    seen = tensor_summaries(case_of("{inputs: {x: [1, 2], y: [1, 2, 3]}, graph: {z: x + y}}"))
    assert "z" not in seen


def test_what_takes_too_much_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ELEMENTS", 3)
    assert tensor_summaries(CHAIN) == {}
    monkeypatch.setattr(module, "MAX_GRAPH_NODES", 2)
    assert tensor_summaries(CHAIN) == {}
