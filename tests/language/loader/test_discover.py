"""Paths lead to files, each once and in order, and to errors where there are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradcheck.errors import InvalidCase
from gradcheck.language.loader import load
from gradcheck.language.loader.discover import Target, discover, read, split_id
from gradcheck.language.loader.limits import Limits
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


def test_folders_are_searched_in_order_without_hidden_ones(folder: Path) -> None:
    expected = ["cases/b/a/one.yml::one", "cases/b/two.yaml::two", "cases/b-c/three.YAML::three"]
    assert ids("cases") == ids("cases/") == ids("./cases") == ids(Path("cases")) == expected
    assert ids(".") == expected
    assert ids(folder / "cases")[0] == f"{folder.as_posix()}/cases/b/a/one.yml::one"


def test_a_file_is_read_once(folder: Path) -> None:
    assert len(ids("cases", "cases/b/two.yaml", "./cases/b")) == 3
    assert ids("cases/b/two.yaml", "cases/b")[0] == "cases/b/two.yaml::two"


def test_missing_path_and_what_was_meant(tmp_path: Path) -> None:
    (tmp_path / "chain.yaml").write_text(VALID)
    missing = tmp_path / "chian.yaml"
    (error,) = load(missing).errors
    assert error.message == "there is no such file or folder"
    assert error.hint == f"did you mean '{tmp_path.as_posix()}/chain.yaml'?"


def test_other_suffixes_pipes_and_links(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "nowhere.yaml").symlink_to("gone.yaml")
    (tmp_path / "valid.yaml").write_text(VALID)
    (error,) = load(tmp_path / "notes.txt").errors
    assert error.message == "not a case file"
    cases, errors = load(tmp_path)
    assert [case.name for case in cases] == ["valid"]
    assert [Path(error.place.file).name for error in errors] == ["loop.yaml", "nowhere.yaml", "pipe.yaml"]
    assert [error.message for error in errors][1:] == ["the link leads nowhere", "not a regular file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_files_and_folders(tmp_path: Path) -> None:
    file, folder = tmp_path / "a.yaml", tmp_path / "folder"
    file.write_text(VALID)
    folder.mkdir()
    file.chmod(0)
    folder.chmod(0)
    try:
        errors = load(tmp_path).errors
    finally:
        folder.chmod(0o700)
    assert {error.message for error in errors} == {"cannot be read: permission denied"}
    assert len(errors) == 2


@pytest.mark.parametrize("path", ["", "no\0where.yaml", "x" * 5_000 + ".yaml", "::", "a::b"])
def test_paths_that_are_none(path: str) -> None:
    loaded = load(path)
    assert not loaded.cases
    assert len(loaded.errors) == 1


def test_an_id_is_parted_where_the_file_ends(tmp_path: Path) -> None:
    (tmp_path / "a::b.yaml").write_text(VALID)
    assert split_id("f.yaml::a case") == ("f.yaml", "a case")
    assert split_id("f.yaml") == ("f.yaml", None)
    assert split_id(f"{tmp_path}/a::b.yaml") == (f"{tmp_path}/a::b.yaml", None)
    assert split_id(f"{tmp_path}/a::b.yaml::c::d") == (f"{tmp_path}/a::b.yaml", "c::d")


def test_targets_and_errors_come_in_the_order_of_the_paths(folder: Path) -> None:
    assert list(discover(["cases/b/two.yaml", "cases/b/two.yaml::q"])) == [Target("cases/b/two.yaml")]
    found = list(discover(["cases/b/notes.txt", "cases/b/two.yaml::q", "cases/b/two.yaml::q"]))
    assert [type(one) for one in found] == [InvalidCase, Target]
    assert found[1] == Target("cases/b/two.yaml", "q")


def test_a_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"12345")
    assert read(str(path), Limits(bytes=5)) == b"12345"
    with pytest.raises(InvalidCase, match="larger than 4 bytes"):
        read(str(path), Limits(bytes=4))
