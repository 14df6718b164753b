"""The reader's own line, and how much of it is meant."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gradcheck.errors import Place
from gradcheck.language.case import Edit, TextSpan
from gradcheck.language.loader import load_text
from gradcheck.reports import render
from gradcheck.reports.source_lines import (
    SourceLocation,
    is_outside_repository,
    locate_part,
    location_of_claim,
    path_in_repository,
    relative_to_cwd,
)
from tests.reports.conftest import diagnosis

CASE = """\
name: a case
inputs: {x: [[1, 2], [3, 4]], "y": [1]}   # numbers
graph:
  z: x @ x + 1  # a comment
  w: >-
    tanh(z)
      * 2
  v: "tanh(z) * 3"
  u: tanh(z)
    + sigmoid(z)
"""


def underlined(found: SourceLocation) -> str:
    return found.line[found.start : found.start + found.length]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "case.yaml"
    path.write_text(CASE, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "part", "line", "column"),
    [
        ("z", "x @ x", 4, 6),
        ("w", "tanh(z)", 6, 5),
        ("w", "2", 7, 9),
        ("v", "tanh(z)", 8, 7),
        ("v", "3", 8, 17),
        ("u", "sigmoid(z)", 10, 7),
    ],
)
def test_a_part_of_an_entry_is_found_in_the_file(file: Path, name: str, part: str, line: int, column: int) -> None:
    (case,), _ = load_text(CASE, str(file))
    claim = case.graph[name]
    start = claim.text.index(part)
    found = locate_part(claim.place, TextSpan(claim.text, start, start + len(part)))
    assert (underlined(found), found.place) == (part, Place(str(file), line, column))


def test_what_is_no_expression_is_underlined_as_far_as_yaml_goes(file: Path) -> None:
    (case,), _ = load_text(CASE, str(file))
    assert underlined(locate_part(case.inputs["x"].place, None)) == "[[1, 2], [3, 4]]"
    assert underlined(locate_part(case.inputs["y"].place, None)) == "[1]"
    assert underlined(locate_part(Place(str(file), 4, 6), None)) == "x @ x + 1"


def test_a_file_that_is_gone_or_has_changed_shows_the_text_itself(file: Path) -> None:
    part = TextSpan("x @ y", 0, 1)
    for place in (Place("no/such.yaml", 4, 6), Place(str(file), 4, 6), Place(str(file), 400, 6)):
        assert locate_part(place, part) == SourceLocation(place, "x @ y", 0, 1)
    assert locate_part(Place("no/such.yaml", 4, 6), None) == SourceLocation(Place("no/such.yaml", 4, 6))
    assert locate_part(Place(), part) == SourceLocation(Place())


def test_what_should_be_changed_comes_before_the_op_and_the_whole(failed: Any) -> None:
    place = Place("no/such.yaml", 3, 6)
    edit = diagnosis("did_you_mean", "x.T @ y", edit=Edit(0, 1, "x.T"))
    formula = failed([1.0], [2.0], what="formula", formula="x @ y", place=place)
    assert underlined(location_of_claim(formula)) == "x @ y"
    changed = failed([1.0], [2.0], what="formula", formula="x @ y", place=place, diagnoses=(edit,))
    assert underlined(location_of_claim(changed)) == "x"
    op = failed([1.0], [2.0], what="node", place=place, part=TextSpan("a + tanh(b)", 4, 11))
    assert underlined(location_of_claim(op)) == "tanh(b)"


def test_a_file_below_the_working_directory_is_named_from_there(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert relative_to_cwd(Place(str(file), 3)) == Place(str(file), 3)
    monkeypatch.chdir(file.parent)
    assert relative_to_cwd(Place(str(file), 3)) == Place("case.yaml", 3)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a part in which the run begins."""
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "libs" / "a").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repo" / "libs" / "a")
    return tmp_path / "repo"


@pytest.mark.parametrize(
    ("file", "seen"),
    [
        ("cases/x.yaml", "libs/a/cases/x.yaml"),
        ("./cases/../x.yaml", "libs/a/x.yaml"),
        ("../b/x.yaml", "libs/b/x.yaml"),
        ("../../x.yaml", "x.yaml"),
        ("../../../x.yaml", "../x.yaml"),
        ("ü/a b.yaml", "libs/a/ü/a b.yaml"),
    ],
)
def test_from_the_root(repository: Path, file: str, seen: str) -> None:
    assert path_in_repository(file) == seen
    assert path_in_repository(str(Path.cwd() / file)) == seen
    assert is_outside_repository(seen) == (file == "../../../x.yaml")


def test_links_to_the_root_lead_there(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(repository)
    (repository / "outer.yaml").symlink_to(tmp_path / "far.yaml")
    assert path_in_repository(str(tmp_path / "link" / "libs" / "x.yaml")) == "libs/x.yaml"
    assert path_in_repository("../../outer.yaml") == "outer.yaml"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "link"))
    assert path_in_repository("x.yaml") == "libs/a/x.yaml"


def test_what_lies_outside_has_a_uri_of_its_own(repository: Path, case: Any, run: Any) -> None:
    place = Place("../../../ü x.yaml", 3, 1)
    result = run(replace(case(status="failed"), place=place, file=place.file))
    (found,) = json.loads(render(result, "sarif"))["runs"][0]["results"]
    artifact = found["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": "file://" + (repository.parent / "%C3%BC%20x.yaml").as_posix()}
    assert "file=../ü x.yaml,line=3" in render(result, "github")
