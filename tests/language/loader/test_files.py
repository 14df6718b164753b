"""From paths, or the text of a file, to cases and errors."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from gradcheck.errors import InvalidCase
from gradcheck.language.loader import load, load_text
from tests.language.loader.cases import VALID


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("b/two.yaml", "b/a/one.yml", "b-c/three.YAML", ".hidden/no.yaml", "b/.git/no.yaml", "b/notes.txt"):
        path = tmp_path / "cases" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(VALID if "yaml" in name.lower() or "yml" in name else "no case")
    return tmp_path


def ids(*paths: str | Path, **options: object) -> list[str]:
    cases, errors = load(paths, **options)  # type: ignore[arg-type]
    assert [str(e) for e in errors] == []
    return [case.id for case in cases]


def test_documents_and_their_names() -> None:
    cases, errors = load_text(f"{VALID}---\n# nothing\n---\n{VALID}---\ninputs: [\n---\n{VALID}...\n", "dir/a.b.yaml")
    assert [case.name for case in cases] == ["a.b", "a.b-2", "a.b-4"]
    assert [case.place.line for case in cases] == [1, 9, 17]
    assert [error.place.line for error in errors] == [16]


def test_a_folder_without_cases_is_no_error(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    assert (loaded.cases, loaded.errors) == ((), ())


def test_one_case_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(f"name: 'a::b'\n{VALID}---\nname: other\n{VALID}---\nname: broken\ninputs: {{x: 1}}\n")
    assert [case.name for case in load(f"{path}::a::b").cases] == ["a::b"]
    assert load(f"{path}::other").errors == ()
    assert load(f"{path}::broken").errors
    path.write_text(f"name: first one\n{VALID}")
    (error,) = load(f"{path}::first on").errors
    assert (error.message, error.hint) == ("no case is named 'first on'", "did you mean 'first one'?")


def test_selected_ids(folder: Path) -> None:
    assert ids("cases", select=["cases/b/two.yaml::two"]) == ["cases/b/two.yaml::two"]


def test_valid_cases_beside_broken_files(folder: Path) -> None:
    (folder / "cases/b/bad.yaml").write_text("inputs: [")
    cases, errors = load("cases")
    assert len(cases) == 3
    assert [error.place.file for error in errors] == ["cases/b/bad.yaml"]
    assert all(isinstance(error, InvalidCase) for error in errors)


def test_garbage_collection_is_left_as_it_was(tmp_path: Path) -> None:
    assert gc.isenabled()
    load(tmp_path)
    assert gc.isenabled()
    gc.disable()
    try:
        load(tmp_path)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_loading_imports_no_torch() -> None:
    code = "import sys; from gradcheck.language import sampling, schema, loader; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
