"""Paths as tools want them that stand at the repository's root, wherever a run began."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gradcheck.errors import Place
from gradcheck.reports import render
from gradcheck.reports.repository import is_outside_repository, path_in_repository


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
