"""Cells that hold a case, and how results show themselves in a notebook."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from IPython.core.formatters import PlainTextFormatter
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from gradcheck.checks.conformance.engine_conformance import Conformance
from gradcheck.checks.conformance.properties import PropertyFinding
from gradcheck.checks.derivation import explain
from gradcheck.checks.result import RunResult
from gradcheck.errors import UsageError
from gradcheck.ipython import parse_choices
from gradcheck.reports import render
from gradcheck.reports.notebook import html_of
from gradcheck.testing import check_cases
from gradcheck.testing.case_checks import CheckFailed
from tests.reports.formats.test_html import ATTRIBUTES, EVIL, TAGS, Reader

CELL = "name: a\ninputs: {x: [1.0, 2]}\ngraph: {y: x * x, s: y.sum()}\nformulas: {x: 3 * x}\n"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InteractiveShell]:
    """IPython itself, with the extension loaded in cell 1."""
    settings = Config()
    settings.HistoryManager.enabled = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # IPython puts a module of its own there
        shell = InteractiveShell(config=settings, ipython_dir=str(tmp_path_factory.mktemp("ipython")))
        answer(shell, "%load_ext gradcheck")
        yield shell


def answer(shell: InteractiveShell, cell: str) -> Any:
    return shell.run_cell(cell, store_history=True).result


@pytest.fixture(scope="module")
def cell(shell: InteractiveShell) -> RunResult:
    shell.execution_count = 7
    found = answer(shell, f"%%gradcheck --reference core --engine core --seed 3\n{CELL}")
    assert isinstance(found, RunResult)
    return found


def test_a_cell_is_a_case(cell: RunResult) -> None:
    (case,) = cell.cases
    assert case.status == "failed"
    assert case.seed == 3
    assert (case.file, case.place.file) == ("<cell 7>", "<cell 7>")


def test_a_cell_is_called_a_cell(cell: RunResult) -> None:
    """No path of a file that nobody wrote, and no command that checks it."""
    html = cell._repr_html_()
    assert "&lt;cell 7&gt;:4:15" in html
    assert "/tmp" not in html
    assert "gradcheck run" not in html
    assert "4 | formulas: {x: 3 * x}" in render(cell, "full")


def test_what_is_wrong_in_a_cell_is_told(shell: InteractiveShell) -> None:
    found = answer(shell, "%%gradcheck --reference core --engine core\ninputs: {x: [1.0]}\ngraph: {y: foo(x)}\n")
    assert [case.status for case in found.cases] == ["invalid"]
    assert "graph: {y: <mark>foo" in found._repr_html_()


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("%gradcheck", "there is no case; begin the cell with %%gradcheck"),
        ("%%gradcheck --sed 3\nname: a", "unrecognized arguments: --sed 3; there are --engine"),
        ("%%gradcheck 'a\nname: a", "No closing quotation"),
        ("%%gradcheck --engine nope\n" + CELL, "there is no engine 'nope'"),
        ("%%gradcheck --dtype float31\n" + CELL, "a case cannot run in the dtype 'float31'"),
    ],
)
def test_slips_in_a_cell_show_a_line(
    typed: str, told: str, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(shell, typed) is None
    output = capsys.readouterr()
    assert told in output.err
    assert "Traceback" not in output.err + output.out


@pytest.mark.parametrize("typed", ["%gradcheck --help", f"%%gradcheck -h\n{CELL}"])
def test_a_cell_can_ask_for_help(typed: str, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(shell, typed) is None
    assert "--engine" in capsys.readouterr().out


def test_a_prompt_shows_a_report_and_not_all_fields(cell: RunResult) -> None:
    shown = PlainTextFormatter()(cell)
    assert shown == cell.text()
    assert "the formula of x is wrong" in shown
    assert re.fullmatch(r"<RunResult: 1 failed in .*s>", repr(cell))
    assert re.fullmatch(r"<CaseResult: 1 failed in .*s>", repr(cell.cases[0]))
    error = CheckFailed("FAIL  a\n1 failed\n", cell)
    assert PlainTextFormatter()(error) == "FAIL  a\n1 failed\n"


def test_a_run_shows_itself(cell: RunResult) -> None:
    html = cell._repr_html_()
    for piece in ("the formula of x is wrong", "<svg", "<math>", "formulas: {x: <mark>", "<title>"):
        assert piece in html
    assert "<script" not in html
    assert html.count("<style>") == 1
    assert cell.cases[0]._repr_html_().count("<svg") >= 1


def test_an_engine_may_be_a_name_of_the_notebook() -> None:
    class Engine:
        name = "mine"

        def evaluate(self, problem: Any) -> Any: ...
        def pull_back(self, applications: Any, cotangents: Any, dtype: Any) -> Any: ...

    found = parse_choices("--engine Mine --engine core --dtype float32", {"Mine": Engine()})
    assert found is not None
    assert [getattr(one, "name", one) for one in found["engines"]] == ["mine", "core"]
    assert found["dtype"] == "float32"
    with pytest.raises(UsageError, match="--engine"):
        parse_choices("--frobnicate", {})


def test_an_explanation_shows_itself(cell: RunResult) -> None:
    case = cell.cases[0].case
    assert case is not None
    html = explain(case)._repr_html_()
    assert html.count("<math>") == 3
    assert "value: [2] float64" in html


def test_many_cases(everything_shown: RunResult) -> None:
    html = everything_shown._repr_html_()
    assert "a sum" in html
    assert html.count("<details") > 5


@pytest.fixture
def everything_shown() -> RunResult:
    from tests.reports.conftest import make_everything

    return make_everything()


def test_nothing_breaks_out() -> None:
    from tests.reports.conftest import make_case, make_failed, make_run

    evil = EVIL[0] + EVIL[1]
    wrong = make_failed(np.ones(2), np.full(2, 3.0), tensor=evil, formula=evil, engine=evil)
    result = make_run(*(make_case(evil, "failed", comparisons=(wrong,), tags=(evil,)) for _ in range(2)))
    for html in (html_of(result), html_of(result.cases[0])):
        read = Reader(html)
        assert not [attributes for _, attributes in read.tags if any(map(ATTRIBUTES.match, attributes))]
        assert not [tag for tag, _ in read.tags if tag in TAGS or tag == "script"]


def test_an_engine_shows_what_holds_for_it(cell: RunResult) -> None:
    html = Conformance(
        "mine", cell, {"mul": "wrong"}, replace(cell, cases=()), (PropertyFinding("p", "holds"),)
    )._repr_html_()
    assert "<pre>mine" in html
    assert "the formula of x is wrong" in html


def test_what_has_no_picture() -> None:
    with pytest.raises(TypeError, match="int"):
        html_of(3)


def test_a_failed_test_ends_a_cell_with_its_picture(cell: RunResult, monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython asks an exception for the lines that it shows; in a terminal there are no pictures."""
    shown: list[Any] = []
    shell = SimpleNamespace(kernel=1, execution_count=4)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=shown.append))

    error = CheckFailed("FAIL  a\n  b\n1 failed\n", cell)
    for _ in range(2):  # for the cell, and for its history
        assert error._render_traceback_() == ["CheckFailed: ", "1 failed"]
        assert shown == [error]
    shell.execution_count = 5
    error._render_traceback_()
    assert shown == [error, error]
    del shell.kernel
    assert error._render_traceback_() == ["CheckFailed: ", "FAIL  a", "  b", "1 failed"]
    assert shown == [error, error]


def test_a_failed_test_shows_its_report(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(CELL, encoding="utf-8")
    with pytest.raises(CheckFailed, match="the formula of x is wrong") as caught:
        check_cases(tmp_path, reference="core", engines=["core"], oracle="none")
    assert "<svg" in caught.value._repr_html_()
