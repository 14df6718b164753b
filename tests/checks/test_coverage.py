"""What a run came to: ops, rules, arguments, and lines of an engine's source."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gradcheck import run
from gradcheck.checks.coverage import files_of, lines_of, measure_coverage
from tests.from_text import case_of
from tests.paths import wrong_engine

CASE = case_of("""
inputs: {x: [[1.0, 2.0], [3.0, 4.0]]}
constants: {c: 2.0}
graph:
  y: torch.sum(x, dim=1)
  z: torch.add(y, y, alpha=3) * c
formulas: {x: 'matrix_exp(zeros(2, 2)) * 0 + 8 * repeat_interleave(grad(z), 2).reshape(2, 2)'}
backward: {z: [1.0, 2.0]}
""")


def test_ops_rules_and_arguments_are_those_of_graphs() -> None:
    with measure_coverage(()) as found:
        run([CASE])
    assert {"sum", "add", "mul"} <= found.ops
    assert "linalg.matrix_exp" not in found.ops
    assert {("sum", "input"), ("add", "input"), ("add", "other"), ("mul", "input")} <= found.rules <= found.all_rules
    assert ("mul", "other") not in found.rules  # nothing flows to a constant
    assert {("sum", "dim"), ("add", "alpha")} <= found.arguments <= found.all_arguments
    assert ("sum", "keepdim") not in found.arguments


def test_lines_are_those_of_the_engines_own_source(tmp_path: Path) -> None:
    engine = wrong_engine("right")
    file = engine.rpartition(":")[0]
    with measure_coverage([engine]) as found:
        run([CASE], engines=[engine])
    assert set(found.all_lines) == {file}
    assert found.lines[file] & found.all_lines[file]
    assert found.all_lines[file] - found.lines[file]


def test_an_engines_source_is_found_by_its_name() -> None:
    assert any(path.name == "error_functions.py" for path in files_of(["core"]))
    assert [path.name for path in files_of(["gradcheck.engines.core:Core"])] == ["core.py"]
    assert files_of(["torch", "nowhere.at_all:Tensor"]) == []


def test_a_package_around_an_engine_is_imported_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that it imports would read settings of the working directory."""
    package = tmp_path / "lib" / "mini_of_coverage"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import os\nHERE = os.getcwd()\n")
    (package / "engine.py").write_text("")
    monkeypatch.syspath_prepend(package.parent)
    (tmp_path / "clone").mkdir()
    monkeypatch.chdir(tmp_path / "clone")
    assert files_of(["mini_of_coverage.engine:X"]) == [package / "engine.py"]
    assert str(tmp_path / "clone") != sys.modules.pop("mini_of_coverage").HERE


def test_only_lines_inside_functions_count(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(
        "x = 1\n\n\ndef f(a):\n    if a:\n        return 1\n    return 2\n\n\nclass C:\n    y = lambda: 3\n"
    )
    assert lines_of(path) == {5, 6, 7, 11}
