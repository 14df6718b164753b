"""The folder of what a run leaves ignores itself, and is never a link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradcheck import project_links
from gradcheck.cache.cache_folder import folder_warning, open_cache


def make(folder: Path) -> None:
    with open_cache(folder, create=True):
        pass


def test_version_control_ignores_it(tmp_path: Path) -> None:
    make(tmp_path / "cache")
    assert (tmp_path / "cache" / ".gitignore").read_text() == "*\n"


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("!mine\n")
    make(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "!mine\n"


def test_what_a_full_disk_has_left_empty_is_written(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").touch()
    make(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "*\n"


def test_a_file_in_its_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    with pytest.raises(NotADirectoryError):
        make(tmp_path / "cache")
    assert folder_warning(tmp_path / "cache") == ""


def test_a_link_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cache").symlink_to("elsewhere")
    with pytest.raises(OSError, match="Not a directory"):
        make(tmp_path / "cache")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert "is a link" in folder_warning(tmp_path / "cache")
    assert folder_warning(tmp_path / "elsewhere") == folder_warning(tmp_path / "nothing") == ""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They could exchange the database's files while SQLite uses them."""
    make(tmp_path / "cache")
    others = {tmp_path / "cache": {4711}}
    monkeypatch.setattr(project_links, "_owners", lambda path: others.get(Path(path), {0}))
    for create in (True, False):
        with pytest.raises(PermissionError, match="another user"), open_cache(tmp_path / "cache", create=create):
            pass
    assert "belongs to another user" in folder_warning(tmp_path / "cache")
    others[tmp_path] = {4711}  # a project of theirs
    make(tmp_path / "cache")
    assert folder_warning(tmp_path / "cache") == ""


def test_a_link_in_the_place_of_its_gitignore_stays(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "mine").write_text("")
    (tmp_path / "cache" / ".gitignore").symlink_to(tmp_path / "mine")
    make(tmp_path / "cache")
    assert (tmp_path / "mine").read_text() == ""
