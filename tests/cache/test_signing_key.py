"""A key that only this user has; where it may be another's, or cannot be had, there is none."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gradcheck.cache.cache_folder import FOLDER
from gradcheck.cache.signing_key import LENGTH, refusal, signing_key


def there(folder: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(folder)}


def test_it_is_made_once_and_for_this_user_alone(tmp_path: Path) -> None:
    found = signing_key(there(tmp_path))
    assert found is not None
    assert len(found) == LENGTH
    assert signing_key(there(tmp_path)) == found
    assert signing_key(there(tmp_path / "another")) not in (None, found)
    assert stat.S_IMODE((tmp_path / "gradcheck" / "secret").stat().st_mode) == 0o600
    assert os.listdir(tmp_path / "gradcheck") == ["secret"]


def test_it_is_in_the_home_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert (
        signing_key({})
        == signing_key({"XDG_CACHE_HOME": "relative"})
        == (tmp_path / ".cache/gradcheck/secret").read_bytes()
    )


def test_no_home_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    assert signing_key({}) is None
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("mode", [0o644, 0o620, 0o604])
def test_one_that_others_may_see_is_none(tmp_path: Path, mode: int) -> None:
    signing_key(there(tmp_path))
    (tmp_path / "gradcheck" / "secret").chmod(mode)
    assert signing_key(there(tmp_path)) is None


@pytest.mark.parametrize("data", [b"", b"short", b"x" * (LENGTH + 1)])
def test_one_of_another_length_is_none(tmp_path: Path, data: bytes) -> None:
    signing_key(there(tmp_path))
    (tmp_path / "gradcheck" / "secret").write_bytes(data)
    assert signing_key(there(tmp_path)) is None


def test_where_it_cannot_be_written_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "gradcheck").write_text("no folder")
    assert signing_key(there(tmp_path)) is None


def test_a_folder_of_somebody_else_gets_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where root runs in a user's home."""
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert signing_key(there(tmp_path)) is None


@pytest.mark.parametrize("link", ["gradcheck", "gradcheck/secret"])
def test_no_link_is_followed(tmp_path: Path, link: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    known = signing_key(there(elsewhere))
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(elsewhere / link)
    assert signing_key(there(tmp_path)) is None
    assert signing_key(there(elsewhere)) == known


@pytest.mark.parametrize("inside", [".", "home", "sub/home"])
def test_one_in_the_project_that_it_would_sign_is_refused(tmp_path: Path, inside: str) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "sub").mkdir()
    for folder in (project, project / "sub"):
        assert "lies in the project" in refusal(folder / FOLDER, there(project / inside))
        assert refusal(folder / FOLDER, there(tmp_path / "home")) == ""
        assert refusal(folder / FOLDER, there(tmp_path / "project and more")) == ""


def test_so_is_one_in_a_project_around_it_but_not_around_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clone of several packages, and `XDG_CACHE_HOME` in it, as jobs of CI have it."""
    clone, package = tmp_path / "clone", tmp_path / "clone" / "package"
    package.mkdir(parents=True)
    (clone / ".git").mkdir()
    (package / "pyproject.toml").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert f"lies in the project '{clone}'" in refusal(package / FOLDER, there(clone / ".cache"))
    assert refusal(package / FOLDER, there(tmp_path / ".cache")) == ""
    monkeypatch.setenv("HOME", str(clone))
    assert refusal(package / FOLDER, {}) == ""  # a home under version control is the user's own


def test_so_is_one_that_a_link_leads_to_or_from(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "link").symlink_to(tmp_path)
    (tmp_path / "home").symlink_to(project)
    for home in (project / "link" / "elsewhere", tmp_path / "home" / ".cache"):
        assert refusal(project / FOLDER, there(home)) != ""


def test_where_there_is_no_home_there_is_nothing_to_refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    assert refusal(tmp_path / FOLDER, {}) == ""
