"""The folder of what a run leaves ignores itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcheck.cache.folder import prepare


def test_it_is_no_matter_of_version_control(tmp_path: Path) -> None:
    prepare(tmp_path / "cache")
    assert (tmp_path / "cache" / ".gitignore").read_text() == "*\n"


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("!mine\n")
    prepare(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "!mine\n"


def test_what_a_full_disk_has_left_empty_is_written(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").touch()
    prepare(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "*\n"


def test_a_file_in_its_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    with pytest.raises(OSError, match="exists"):
        prepare(tmp_path / "cache")
