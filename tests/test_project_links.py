"""Links that are followed, and those that are refused."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from gradcheck import project_links
from gradcheck.project_links import LinkRefused, belongs_to_others, project_root, resolve
from gradcheck.safe_files import open_parent_folder, rewrite, write
from tests.test_safe_files import anything, ours

# What a file belongs to --------------------------------------------------------------------------------


@pytest.mark.parametrize("marker", [".git", "pyproject.toml", "gradcheck.toml"])
def test_a_file_belongs_to_the_nearest_project(tmp_path: Path, marker: str) -> None:
    (tmp_path / "outer" / "inner" / "deep").mkdir(parents=True)
    (tmp_path / "outer" / ".git").mkdir()
    (tmp_path / "outer" / "inner" / marker).touch()
    assert project_root(tmp_path / "outer" / "inner" / "deep" / "r.json") == str(tmp_path / "outer" / "inner")
    assert project_root(tmp_path / "outer" / "r.json") == str(tmp_path / "outer")


def test_else_to_the_working_directory_or_to_the_folder_that_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here" / "reports").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    assert project_root("reports/r.json") == str(tmp_path / "here")
    assert project_root(tmp_path / "there" / "r.json") == str(tmp_path / "there")
    assert project_root(tmp_path / "herein" / "r.json") == str(tmp_path / "herein")


@pytest.fixture
def by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Return a function that gives a file to another user."""
    theirs: set[str] = set()
    known = project_links._owners

    def owners(path: str | os.PathLike[str]) -> set[int]:
        return {4711} if os.fspath(path) in theirs else known(path)

    monkeypatch.setattr(project_links, "_owners", owners)
    return lambda path: theirs.add(os.fspath(path))


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
@pytest.mark.parametrize("marker", [".git", "pyproject.toml", "gradcheck.toml"])
def test_a_marker_of_another_user_widens_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: str, by_another: Callable[[Path], None]
) -> None:
    """As in a folder for all: a link of a clone there would lead to all others."""
    (tmp_path / "clone" / "cases").mkdir(parents=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "clone" / "out").symlink_to(tmp_path / "mine")
    (tmp_path / marker).touch()
    by_another(tmp_path / marker)
    monkeypatch.chdir(tmp_path / "clone")
    assert project_root("out/r.json") == str(tmp_path / "clone")
    for here in (tmp_path, tmp_path / "clone"):  # the former as in `/tmp` itself
        monkeypatch.chdir(here)
        with pytest.raises(LinkRefused):
            write(tmp_path / "clone" / "out" / "r.json", b"", lambda _: True)
    assert list((tmp_path / "mine").iterdir()) == []
    (tmp_path / "clone" / "cases" / marker).touch()
    by_another(tmp_path / "clone" / "cases" / marker)  # as root unpacks an archive: it narrows the project
    assert project_root("cases/r.json") == str(tmp_path / "clone" / "cases")
    by_another(tmp_path / "clone")
    assert project_root("r.json") == str(tmp_path)  # who works in their folder is in their project


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_a_link_belongs_to_two_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "nowhere").symlink_to("nothing")
    assert not any(belongs_to_others(tmp_path / name, tmp_path) for name in ("file", "link", "nowhere"))
    stat, lstat = os.stat, os.lstat
    owned = os.stat_result((0, 0, 0, 0, 4711, 0, 0, 0, 0, 0))
    monkeypatch.setattr(os, "stat", lambda path, **how: owned if path == tmp_path / "link" else stat(path, **how))
    assert belongs_to_others(tmp_path / "link", tmp_path)
    monkeypatch.setattr(os, "stat", stat)
    monkeypatch.setattr(os, "lstat", lambda path, **how: owned if path == tmp_path / "nowhere" else lstat(path, **how))
    assert belongs_to_others(tmp_path / "nowhere", tmp_path)


# Links -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "links"),
    [
        ("r", {"r": "../precious"}),
        ("r", {"r": "../new"}),
        ("r", {"r": "s", "s": "../precious"}),
        ("out/r", {"out": ".."}),
        ("out/deep/r", {"out": "in", "in": "../.."}),
        ("out/precious", {"out": ".."}),
        ("r", {"r": "/nowhere/at/all"}),
        ("r", {"r": "r"}),
        ("r", {"r": ".git/hooks/pre-commit"}),
        ("r", {"r": ".git/config"}),
        ("r", {"r": ".envrc"}),
        ("out/settings.json", {"out": ".vscode"}),
        ("r", {"r": "env/lib/x.pth"}),
        ("out/r", {"out": "env/lib"}),
        ("r", {"r": "new"}),
        ("r", {"r": "empty"}),
        ("out/empty", {"out": "."}),
    ],
)
def test_no_link_leads_out_or_to_what_is_hidden(project: Path, path: str, links: dict[str, str]) -> None:
    (project / ".git" / "hooks").mkdir()
    for file in (".git/config", "env/pyvenv.cfg", "env/lib/x.pth", "empty"):
        (project / file).parent.mkdir(parents=True, exist_ok=True)
        (project / file).write_text("" if file == "empty" else "text")
    for name, target in links.items():
        (project / name).symlink_to(target)
    before = {file: file.read_bytes() for file in project.parent.rglob("*") if file.is_file()}
    with pytest.raises(OSError, match="a link leads"):
        write(path, b"new", anything)
    with pytest.raises(OSError), open_parent_folder(path, create=True):  # noqa: PT011
        pass
    assert {file: file.read_bytes() for file in project.parent.rglob("*") if file.is_file()} == before


def test_a_link_inside_of_the_project_stays_a_link(project: Path) -> None:
    (project / "reports").mkdir()
    (project / "reports" / "r").write_text("ours")
    (project / "reports" / "r").chmod(0o640)
    (project / "out").symlink_to("reports")
    (project / "link").symlink_to("out/r")
    write("link", b"ours, too", ours)
    assert (project / "link").is_symlink()
    assert (project / "reports" / "r").read_text() == "ours, too"
    assert stat.S_IMODE((project / "reports" / "r").stat().st_mode) == 0o640


def test_what_is_hidden_can_be_named(project: Path) -> None:
    write(".git/r", b"new", anything)
    assert (project / ".git" / "r").read_bytes() == b"new"


def test_a_link_by_which_the_user_came_is_the_users_own(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "short").symlink_to(project)
    with pytest.raises(LinkRefused):
        write(tmp_path / "short" / "r", b"new", anything)
    monkeypatch.setenv("PWD", str(tmp_path / "short"))
    write(tmp_path / "short" / "r", b"new", anything)
    assert (project / "r").read_bytes() == b"new"
    assert resolve(tmp_path / "short" / "r") == (str(project.resolve()), "r")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LinkRefused):
        write(tmp_path / "short" / "s", b"new", anything)


def test_links_of_the_system_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "islink", lambda path: path in ("/short", "/short/mine"))
    asked: list[str] = []
    monkeypatch.setattr(project_links, "_check_link", lambda link, real: asked.append(link))
    resolve("/short/mine/r.json")
    assert set(asked) == {"/short/mine"}


@pytest.mark.parametrize("here", ["home", "home/archive", "home/archive/in", "elsewhere"])
@pytest.mark.parametrize("path", ["a.yaml", "out/a.yaml", "in/up/mine/a.yaml"])
def test_a_link_without_a_project_stays_in_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: str, path: str
) -> None:
    """As the shell hands on the links of an archive: `run --fix ../archive/*`."""
    archive, mine = tmp_path / "home" / "archive", tmp_path / "home" / "mine"
    for folder in (archive / "in", mine, tmp_path / "elsewhere"):
        folder.mkdir(parents=True)
    (mine / "a.yaml").write_text("mine")
    (archive / "a.yaml").symlink_to(mine / "a.yaml")
    (archive / "out").symlink_to("../mine")
    (archive / "in" / "up").symlink_to("../..")
    (archive / "beside.yaml").symlink_to("in/b.yaml")
    (archive / "in" / "b.yaml").write_text("theirs")
    monkeypatch.chdir(tmp_path / here)
    with pytest.raises(LinkRefused):
        rewrite(os.path.relpath(archive / path), b"mine", b"overwritten")
    assert (mine / "a.yaml").read_text() == "mine"
    rewrite(archive / "beside.yaml", b"theirs", b"corrected")
    assert (archive / "in" / "b.yaml").read_text() == "corrected"


@pytest.mark.parametrize("link", ["link", "in/link"])
@pytest.mark.parametrize("marked", [True, False])
def test_a_link_to_another_project_leads_out(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: str, marked: bool
) -> None:
    """A stranger's folder, a project or just the working directory, links to what is a project of its own."""
    other = tmp_path / "other" / "mine"
    (other / "cases").mkdir(parents=True)
    (other / "pyproject.toml").touch()
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(other if link == "link" else other.parent)
    if not marked:
        (project / ".git").rmdir()
    monkeypatch.chdir(tmp_path if marked else project)
    below = project / link if link == "link" else project / link / "mine"
    with pytest.raises(LinkRefused, match="a link leads out of"):
        write(below / "cases" / "r", b"new", anything)
    assert not (other / "cases" / "r").exists()


@pytest.mark.parametrize("link", ["clone/out", "clone/in/out"])
def test_so_does_one_where_the_folder_of_all_projects_is_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: str
) -> None:
    """A home that is under version control, and an archive in it that has no marker."""
    other, out = tmp_path / "other", tmp_path / link
    for folder in (tmp_path / ".git", other / ".git", other / "cases", out.parent, tmp_path / "plain"):
        folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(tmp_path / "clone")
    for target, below in ((other, "r"), (other, "cases/r"), (other / "cases", "r")):
        out.symlink_to(target)
        with pytest.raises(LinkRefused, match="to the project"):
            write(out / below, b"new", anything)
        out.unlink()
    assert not (other / "r").exists()
    assert not (other / "cases" / "r").exists()
    write(other / "r", b"new", anything)  # as named
    out.symlink_to(tmp_path / "plain")
    write(out / "r", b"new", anything)
    assert (tmp_path / "plain" / "r").read_bytes() == b"new"


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize(("marker", "below"), [(".git", "cases/r"), ("pyvenv.cfg", "lib/r"), (".hidden", ".hidden/r")])
def test_a_link_to_the_folder_of_all_leads_to_no_other_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marked: bool, marker: str, below: str
) -> None:
    """`cases -> ..` stays in the project around an archive, and `cases -> .` in a folder without one."""
    archive = tmp_path / "work" / "archive" if marked else tmp_path / "work"
    file = tmp_path / "work" / "other" / below
    file.parent.mkdir(parents=True)
    archive.mkdir(exist_ok=True)
    (tmp_path / "work" / "other" / marker).mkdir(exist_ok=True)
    file.write_text("text")
    if marked:
        (tmp_path / "work" / ".git").mkdir()
    (archive / "cases").symlink_to(".." if marked else ".")
    monkeypatch.chdir(archive)
    with pytest.raises(LinkRefused):
        rewrite(f"cases/other/{below}", b"text", b"overwritten")
    assert file.read_text() == "text"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_a_link_to_a_project_of_another_user_leads_out(project: Path, by_another: Callable[[Path], None]) -> None:
    (project / "theirs" / ".git").mkdir(parents=True)
    by_another(project / "theirs" / ".git")
    (project / "out").symlink_to("theirs")
    with pytest.raises(LinkRefused):
        write("out/r", b"new", anything)


def test_a_link_to_the_packages_of_an_environment_in_the_same_folder_is_refused(project: Path) -> None:
    """As after `python -m venv .`, which makes an environment of the project."""
    (project / "pyvenv.cfg").touch()
    (project / "lib" / "site-packages").mkdir(parents=True)
    (project / "cases").symlink_to("lib/site-packages")
    with pytest.raises(LinkRefused):
        write("cases/r", b"new", anything)
