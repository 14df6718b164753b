"""`--changed-since`: what git says has changed."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gradcheck.cli import git_changes

CASE = "name: {name}\ninputs: {{x: 1}}\ngraph: {{y: x + x}}\n"
ENGINE = "from gradcheck.engines.core import Core\n\nclass Mine(Core):\n    name = 'mine'\n"


def git(*words: str, input: str = "") -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *who, *words], check=True, capture_output=True, input=input, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(folder: Path) -> Path:
    """Two cases and an engine, committed; below `sub`, to which nobody has gone."""
    (folder / "sub" / "cases").mkdir(parents=True)
    for name in ("old", "other"):
        (folder / "sub" / "cases" / f"{name}.yaml").write_text(CASE.format(name=name))
    (folder / "mine.py").write_text(ENGINE)
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    return folder


def listed(gradcheck: Any, *words: str) -> list[str]:
    outcome = gradcheck("run", "sub", "--output-format", "concise", "-q", "--durations", "0", *words)
    return sorted(line.rpartition("::")[2].partition("  (")[0] for line in outcome.out.splitlines() if "::" in line)


def test_changed_and_new_files_are_taken(repository: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "sub" / "cases" / "new.yaml").write_text(CASE.format(name="new"))
    assert listed(gradcheck, "--changed-since", "HEAD") == ["new"]
    (repository / "sub" / "cases" / "old.yaml").write_text(CASE.format(name="old, but changed"))
    git("add", ".")
    git("commit", "-m", "second")
    assert listed(gradcheck, "--changed-since", "HEAD~1") == ["new", "old, but changed"]
    monkeypatch.chdir(repository / "sub")
    outcome = gradcheck("run", "--changed-since", "HEAD~1", "--output-format", "concise")
    assert outcome.out.startswith("2 passed")


def test_what_others_have_changed_meanwhile_does_not_count(repository: Path, gradcheck: Any) -> None:
    git("checkout", "-b", "mine")
    git("checkout", "main")
    (repository / "sub" / "cases" / "other.yaml").write_text(CASE.format(name="theirs"))
    git("commit", "-am", "theirs")
    git("checkout", "mine")
    (repository / "sub" / "cases" / "old.yaml").write_text(CASE.format(name="ours"))
    assert listed(gradcheck, "--changed-since", "main") == ["ours"]


def test_a_changed_engine_concerns_all_cases(repository: Path, gradcheck: Any) -> None:
    (repository / "mine.py").write_text(ENGINE + "\n")
    assert listed(gradcheck, "--changed-since", "HEAD", "--engine", "mine.py:Mine") == ["old", "other"]


def test_a_changed_engine_of_an_override_concerns_its_cases(repository: Path, gradcheck: Any) -> None:
    override = "[[tool.gradcheck.overrides]]\npaths = ['sub/cases/old.yaml']\nengine = ['mine.py:Mine']\n"
    (repository / "pyproject.toml").write_text(override)
    assert listed(gradcheck, "--changed-since", "HEAD") == []
    (repository / "mine.py").write_text(ENGINE + "\n")
    assert listed(gradcheck, "--changed-since", "HEAD") == ["old"]


def test_an_engine_may_be_a_module_of_this_folder(repository: Path, gradcheck: Any) -> None:
    words = ("--changed-since", "HEAD", "--engine", "mine:Mine")
    assert listed(gradcheck, *words) == []
    (repository / "mine.py").write_text(ENGINE + "\n")
    assert listed(gradcheck, *words) == ["old", "other"]


@pytest.mark.parametrize("engine", ["pkg.sub.engine:Mine", "pkg/sub/engine.py:Mine"])
@pytest.mark.parametrize("helper", ["pkg/helper.py", "beside.py"])
def test_an_engine_changes_with_a_helper_above_it(repository: Path, gradcheck: Any, engine: str, helper: str) -> None:
    (repository / "pkg" / "sub").mkdir(parents=True)
    for name in ("pkg/__init__.py", "pkg/helper.py", "pkg/sub/__init__.py", "beside.py"):
        (repository / name).write_text("")
    (repository / "pkg" / "sub" / "engine.py").write_text(ENGINE)
    git("add", ".")
    git("commit", "-m", "package")
    words = ("--changed-since", "HEAD", "--engine", engine)
    assert listed(gradcheck, *words) == []
    (repository / helper).write_text("TWO = 2\n")
    assert listed(gradcheck, *words) == ["old", "other"]


def test_nothing_changed_is_nothing_to_do(repository: Path, gradcheck: Any) -> None:
    outcome = gradcheck("run", "sub", "--changed-since", "HEAD")
    assert (outcome.code, outcome.err) == (5, "gradcheck: no case has changed since HEAD\n")


@pytest.mark.parametrize("revision", ["nowhere", "--help", "HEAD:sub", ":sub/a.yaml", "^:sub/a.yaml", "HEAD..:a", ""])
def test_a_commit_that_is_none_is_told(repository: Path, gradcheck: Any, revision: str) -> None:
    outcome = gradcheck("run", "sub", f"--changed-since={revision}")
    assert outcome.code == 2
    assert outcome.err.startswith(f"gradcheck: git knows no commit '{revision}' that this branch comes from; a clone")


def test_a_name_of_two_commits_is_refused(repository: Path, gradcheck: Any) -> None:
    git("tag", "main")  # as comes with a fork's commits, and is taken before the branch
    outcome = gradcheck("run", "sub", "--changed-since", "main")
    assert (outcome.code, "git has several commits of the name 'main'" in outcome.err) == (2, True)
    assert gradcheck("run", "sub", "--changed-since", "refs/heads/main").code == 5


def test_without_a_repository_git_says_so(cases: Path, gradcheck: Any) -> None:
    outcome = gradcheck("run", "--changed-since", "HEAD")
    assert outcome.code == 2
    assert "not a git repository" in outcome.err


@pytest.mark.parametrize(
    ("settings", "attributes"),
    [
        ({"core.fsmonitor": "{}"}, ""),
        ({"core.hooksPath": "hooks"}, ""),
        ({"diff.external": "{}"}, ""),
        ({"filter.own.clean": "{}", "filter.own.process": "", "filter.own.required": "true"}, "* filter=own"),
        ({"filter.own.process": "{}"}, "* filter=own"),
        ({"filter.a.b=c.clean": "{}"}, "* filter=a.b=c"),
        ({"diff.own.command": "{}", "diff.own.textconv": "{}"}, "* diff=own"),
    ],
)
def test_a_repository_that_comes_in_an_archive_runs_nothing(
    repository: Path, gradcheck: Any, settings: dict[str, str], attributes: str
) -> None:
    """Its `.git` has a configuration, and hooks, of its own."""
    (repository / "evil").write_text(f"#!/bin/sh\ntouch {repository}/ran\ncat\n")
    (repository / "evil").chmod(0o755)
    for folder in (repository / "hooks", repository / ".git" / "hooks"):
        folder.mkdir(exist_ok=True)
        for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
            (folder / hook).write_text((repository / "evil").read_text())
            (folder / hook).chmod(0o755)
    for name, value in settings.items():
        git("config", name, value.format(repository / "evil"))
    (repository / ".gitattributes").write_text(f"{attributes}\n")
    (repository / "ran").unlink(missing_ok=True)
    (repository / "sub" / "cases" / "old.yaml").write_text(CASE.format(name="changed"))
    (repository / "sub" / "cases" / "other.yaml").touch()
    assert listed(gradcheck, "--changed-since", "HEAD") == ["changed"]
    assert not (repository / "ran").exists()


@pytest.mark.parametrize("forgotten", ["GIT_ALLOW_PROTOCOL", "GIT_EXEC_PATH; export PATH=/usr/bin:/bin"])
def test_a_git_that_fetches_lazily_starts_no_helper_of_the_repository(
    repository: Path, gradcheck: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgotten: str
) -> None:
    """A git before 2.39.4 knows no GIT_NO_LAZY_FETCH, and some ask for no allowed protocol; the helper is an alias."""
    old = tmp_path / "bin" / "git"
    old.parent.mkdir()
    old.write_text(f'#!/bin/sh\nunset GIT_NO_LAZY_FETCH {forgotten}\nexec {shutil.which("git")} "$@"\n')
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}{os.pathsep}{os.environ['PATH']}")
    tree = git("rev-parse", "HEAD:sub/cases")
    (repository / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    settings = {"core.repositoryformatversion": "1", "extensions.partialClone": "evil", "remote.evil.promisor": "true"}
    settings |= {"remote.evil.url": "x", "remote.evil.vcs": "none", "alias.remote-none": f"!touch {repository}/ran #"}
    for name, value in settings.items():
        git("config", name, value)
    assert gradcheck("run", "sub", "--changed-since", "HEAD").code == 2
    assert not (repository / "ran").exists()


def test_the_repository_of_another_work_tree_runs_nothing(repository: Path, gradcheck: Any) -> None:
    """The outer repository has no filter; the folder that its `core.worktree` names has a repository that has one."""
    inner = repository / "sub"
    (inner / ".gitattributes").write_text("* filter=own\n")
    for words in (["init"], ["add", "."], ["commit", "-m", "first"]):
        git("-C", str(inner), *words)
    shutil.rmtree(repository / ".git")
    shutil.copytree(inner / ".git", repository / ".git")
    git("config", "core.worktree", "../sub")
    git("-C", str(inner), "config", "filter.own.clean", f"touch {repository}/ran; cat")
    (inner / "cases" / "old.yaml").write_text(CASE.format(name="changed"))
    assert listed(gradcheck, "--changed-since", "HEAD") == ["changed"]
    assert not (repository / "ran").exists()


def test_the_index_of_another_repository_is_not_written(repository: Path, gradcheck: Any) -> None:
    """Git refreshes an index in which two or more unchanged files have another time, and follows a link to it."""
    shutil.copytree(repository, repository / "elsewhere")
    theirs, ours = (top / ".git" / "index" for top in (repository / "elsewhere", repository))
    ours.unlink()
    ours.symlink_to(theirs)
    before = theirs.stat().st_ino, theirs.read_bytes()
    for name in ("old", "other"):
        os.utime(repository / "sub" / "cases" / f"{name}.yaml", (0, 0))
    assert listed(gradcheck, "--changed-since", "HEAD") == []
    assert (theirs.stat().st_ino, theirs.read_bytes()) == before


@pytest.mark.parametrize("bit", ["--skip-worktree", "--assume-unchanged"])
def test_the_index_does_not_say_what_has_changed(repository: Path, gradcheck: Any, bit: str) -> None:
    git("update-index", bit, "sub/cases/old.yaml")
    (repository / "sub" / "cases" / "old.yaml").write_text(CASE.format(name="changed"))
    assert listed(gradcheck, "--changed-since", "HEAD") == ["changed"]


@pytest.mark.parametrize("place", [".gitignore", ".git/info/exclude"])
def test_ignored_files_are_new_too(repository: Path, gradcheck: Any, place: str) -> None:
    (repository / place).write_text("new.yaml\n")
    (repository / "sub" / "cases" / "new.yaml").write_text(CASE.format(name="new"))
    assert listed(gradcheck, "--changed-since", "HEAD") == ["new"]


def test_links_change_with_their_targets_and_with_what_these_hold(repository: Path, gradcheck: Any) -> None:
    link, other = (repository / "sub" / "cases" / name for name in ("link.yaml", "other.yaml"))
    link.symlink_to("old.yaml")
    git("add", ".")
    git("commit", "-m", "a link")
    assert listed(gradcheck, "--changed-since", "HEAD") == []
    link.unlink()
    link.symlink_to("other.yaml")
    assert listed(gradcheck, "--changed-since", "HEAD") == ["other"]
    git("commit", "-am", "another target")
    other.write_text(CASE.format(name="changed"))
    assert listed(gradcheck, "--changed-since", "HEAD") == ["changed", "changed"]
    other.unlink()
    other.symlink_to("other.yaml")
    assert gradcheck("run", "sub", "--changed-since", "HEAD").code == 2


def test_files_outside_of_the_repository_and_the_standard_input_are_not_left_out(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "far.yaml"
    outside.write_text(CASE.format(name="far"))
    assert listed(gradcheck, str(outside), "--changed-since", "HEAD") == ["far"]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=BytesIO(CASE.format(name="piped").encode())))
    assert listed(gradcheck, "-", "--changed-since", "HEAD") == ["piped"]
    assert gradcheck("run", "sub", "nowhere.yaml", "--changed-since", "HEAD").code == 2


def test_a_case_changes_with_the_code_that_it_names(repository: Path, gradcheck: Any) -> None:
    code = repository / "sub" / "cases" / "code.py"
    code.write_text("import torch\n\ndef double(x):\n    return x + x\n")
    text = CASE.format(name="code") + "implementations: {y: 'code.py:double'}\n"
    (repository / "sub" / "cases" / "code.yaml").write_text(text)
    git("add", ".")
    git("commit", "-m", "code")
    words = ("--changed-since", "HEAD", "--allow-code")
    assert listed(gradcheck, *words) == []
    new = code.parent / "new.py"
    new.write_text("")  # which the code may import
    assert listed(gradcheck, *words) == ["code"]
    new.unlink()
    code.write_text(code.read_text() + "\n")
    assert listed(gradcheck, *words) == ["code"]
    new.write_text("")
    git("add", ".")
    git("commit", "-m", "helper")
    new.write_text("TWO = 2\n")
    assert listed(gradcheck, *words) == ["code"]
    new.unlink()
    assert listed(gradcheck, *words) == ["code"]


def test_code_changes_with_a_package_that_is_gone(repository: Path, gradcheck: Any) -> None:
    helper = repository / "helper" / "__init__.py"
    helper.parent.mkdir()
    helper.write_text("")
    git("add", ".")
    git("commit", "-m", "helper")
    words = ("--changed-since", "HEAD", "--engine", "mine.py:Mine")
    assert listed(gradcheck, *words) == []
    shutil.rmtree(helper.parent)
    assert listed(gradcheck, *words) == ["old", "other"]
    helper.parent.write_text("a file of that name")
    assert listed(gradcheck, *words) == ["old", "other"]


@pytest.mark.parametrize("file", ["venv/lib/library.py", "__pycache__/mine.cpython-311.pyc"])
def test_files_that_are_made_change_code_only_if_somebody_commits_them(
    repository: Path, gradcheck: Any, file: str
) -> None:
    (repository / file).parent.mkdir(parents=True)
    (repository / file).write_text("")
    (repository / "venv").mkdir(exist_ok=True)
    (repository / "venv" / "pyvenv.cfg").write_text("")
    words = ("--changed-since", git("rev-parse", "HEAD"), "--engine", "mine.py:Mine")
    assert listed(gradcheck, *words) == []
    git("add", "--force", ".")
    git("commit", "-m", "what is made")
    assert listed(gradcheck, *words) == ["old", "other"]


def test_a_package_that_looks_like_an_environment_changes_code(repository: Path, gradcheck: Any) -> None:
    (repository / "helper").mkdir()
    for name in ("pyvenv.cfg", "__init__.py"):
        (repository / "helper" / name).write_text("")
    assert listed(gradcheck, "--changed-since", "HEAD", "--engine", "mine.py:Mine") == ["old", "other"]


@pytest.mark.parametrize("shadow", ["helper/__init__.py", "helper/__init__.pyc", f"helper{EXTENSION_SUFFIXES[0]}"])
def test_a_new_file_that_hides_a_helper_changes_the_engine(repository: Path, gradcheck: Any, shadow: str) -> None:
    (repository / "helper.py").write_text("")
    git("add", ".")
    git("commit", "-m", "helper")
    words = ("--changed-since", "HEAD", "--engine", "mine.py:Mine")
    assert listed(gradcheck, *words) == []
    (repository / shadow).parent.mkdir(exist_ok=True)
    (repository / shadow).write_text("")
    assert listed(gradcheck, *words) == ["old", "other"]


def test_a_case_changes_with_a_module_elsewhere_that_it_names(
    repository: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = repository / "src" / "somebodys_own.py"
    code.parent.mkdir()
    code.write_text("def double(x):\n    return x + x\n")
    monkeypatch.syspath_prepend(str(code.parent))
    text = CASE.format(name="code") + "implementations: {y: 'somebodys_own:double'}\n"
    (repository / "sub" / "cases" / "code.yaml").write_text(text)
    git("add", ".")
    git("commit", "-m", "code")
    words = ("--changed-since", "HEAD", "--allow-code")
    assert listed(gradcheck, *words) == []
    code.write_text(code.read_text() + "\n")
    assert listed(gradcheck, *words) == ["code"]


def test_no_folder_outside_of_the_repository_is_listed(
    repository: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed_folders: list[str] = []
    known = git_changes.folders_below

    def folders_below(folder: str) -> Any:
        listed_folders.append(os.path.realpath(folder))
        return known(folder)

    monkeypatch.setattr(git_changes, "folders_below", folders_below)
    above = os.path.relpath("/", repository / "sub" / "cases")
    for place in (f"{above}/x.py", f"{above}/usr/x.py"):
        text = CASE.format(name="code") + f"implementations: {{y: '{place}:double'}}\n"
        (repository / "sub" / "cases" / "code.yaml").write_text(text)
        git("add", ".")
        git("commit", "-m", "code")
        listed(gradcheck, "--changed-since", "HEAD")
    assert set(listed_folders) == {str(repository.resolve())}


def test_files_behind_a_new_link_have_changed(repository: Path, gradcheck: Any) -> None:
    """Be it the folder of the cases, or of a helper of the engine."""
    (repository / "helper").mkdir()
    shutil.copytree(repository / "helper", repository / "other")
    (repository / "helper" / "__init__.py").write_text("")
    (repository / "other" / "__init__.py").write_text("")
    shutil.copytree(repository / "sub" / "cases", repository / "drafts")
    git("add", ".")
    git("commit", "-m", "drafts")
    words = ("--changed-since", git("rev-parse", "HEAD"))
    assert listed(gradcheck, *words, "--engine", "mine.py:Mine") == []
    shutil.rmtree(repository / "helper")
    (repository / "helper").symlink_to("other")
    git("add", ".")
    git("commit", "-m", "link")
    assert listed(gradcheck, *words) == []
    assert listed(gradcheck, *words, "--engine", "mine.py:Mine") == ["old", "other"]
    assert listed(gradcheck, "--changed-since", "HEAD", "--engine", "mine.py:Mine") == []
    (repository / "other" / "__init__.py").write_text("TWO = 2\n")
    assert listed(gradcheck, "--changed-since", "HEAD", "--engine", "mine.py:Mine") == ["old", "other"]
    shutil.rmtree(repository / "sub" / "cases")
    (repository / "sub" / "cases").symlink_to("../drafts")
    outcome = gradcheck("run", "sub/cases", "--output-format", "concise", *words)
    assert outcome.out.startswith("2 passed")


def test_ends_of_lines_are_no_change(repository: Path, gradcheck: Any) -> None:
    old = repository / "sub" / "cases" / "old.yaml"
    old.write_bytes(old.read_bytes().replace(b"\n", b"\r\n"))
    assert listed(gradcheck, "--changed-since", "HEAD") == []
    git("-c", "core.autocrlf=false", "commit", "-am", "ends of Windows")
    old.write_bytes(old.read_bytes().replace(b"\r\n", b"\r\r\n"))  # which are two ends
    assert listed(gradcheck, "--changed-since", "HEAD") == ["old"]


def test_a_linked_work_tree_has_its_own_changes(
    repository: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("worktree", "add", "other", "-b", "other")
    (repository / "other" / "sub" / "cases" / "old.yaml").write_text(CASE.format(name="changed"))
    monkeypatch.chdir(repository / "other")
    assert listed(gradcheck, "--changed-since", "HEAD") == ["changed"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("place", [".gitignore", ".gitattributes", ".git/info/exclude", ".git/index"])
def test_git_reads_no_pipe_in_place_of_a_file_that_decides_nothing(
    repository: Path, gradcheck: Any, place: str
) -> None:
    (repository / place).unlink(missing_ok=True)
    os.mkfifo(repository / place)
    (repository / "sub" / "cases" / "old.yaml").write_text(CASE.format(name="changed"))
    assert listed(gradcheck, "--changed-since", "HEAD") == ["changed"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_git_that_waits_for_a_pipe_is_ended(repository: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradcheck.cli.git_changes._MOST_SECONDS", 2.0)
    (repository / ".git" / "HEAD").unlink()
    os.mkfifo(repository / ".git" / "HEAD")
    outcome = gradcheck("run", "sub", "--changed-since", "HEAD")
    assert outcome.code == 2
    assert "has not ended after 2 seconds; it may wait for a named pipe" in outcome.err
    assert "--changed-since: 'git " in outcome.err


@pytest.mark.parametrize("path", ["", ".", "relative"])
def test_a_git_of_the_working_directory_is_not_run(
    repository: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    for folder in (repository, repository / "relative"):
        folder.mkdir(exist_ok=True)
        for name in ("git", "git.exe"):
            (folder / name).write_text(f"#!/bin/sh\ntouch {repository}/ran\n")
            (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((path, os.environ["PATH"])))
    assert listed(gradcheck, "--changed-since", "HEAD") == []
    assert not (repository / "ran").exists()
    monkeypatch.setenv("PATH", path)
    outcome = gradcheck("run", "sub", "--changed-since", "HEAD")
    assert outcome.err == "gradcheck: --changed-since asks git, which is in no folder of PATH; install git\n"
    assert not (repository / "ran").exists()


def test_git_tells_no_more_than_the_folders_of_cases(
    repository: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten trees, each ten times in the next, would be 10^10 files."""
    tree = git("write-tree")
    for _ in range(3):
        tree = git("mktree", input="".join(f"040000 tree {tree}\td{i}\n" for i in range(10)))
    case = git("rev-parse", "HEAD:sub")
    bomb = git("mktree", input=f"040000 tree {tree}\tbomb\n040000 tree {case}\tsub\n")
    git("reset", "--soft", git("commit-tree", "-m", "bomb", bomb))
    told, limits = [], []
    run = subprocess.run

    def counted(*words: Any, **given: Any) -> Any:
        limits.append(resource.getrlimit(resource.RLIMIT_DATA)[0])
        done = run(*words, **given)
        told.append(len(done.stdout))
        return done

    monkeypatch.setattr(subprocess, "run", counted)
    (repository / "sub" / "cases" / "new.yaml").write_text(CASE.format(name="new"))
    assert listed(gradcheck, "--changed-since", "HEAD") == ["new"]
    assert max(told) < 1_000
    assert not sys.platform.startswith("linux") or resource.RLIM_INFINITY not in limits


@pytest.mark.parametrize("worktree", [".", ".."])
@pytest.mark.parametrize("inner", ["", "cases"])
def test_a_repository_in_a_commit_hides_no_change(
    repository: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch, worktree: str, inner: str
) -> None:
    """A folder with `HEAD`, `objects` and `refs` is a repository to git, without any `.git`."""
    (repository / "sub" / "cases" / "old.yaml").write_text(CASE.format(name="changed"))
    git("init", "--bare", "sub/made")
    theirs = ("-C", f"sub/{worktree}", "--git-dir", str(repository / "sub" / "made"), "--work-tree", ".")
    git(*theirs, "add", "*.yaml")
    git(*theirs, "commit", "-m", "the history of a stranger")
    for name in ("HEAD", "objects", "refs"):
        os.rename(f"sub/made/{name}", f"sub/{name}")
    (repository / "sub" / "config").write_text(f"[core]\nrepositoryformatversion=0\nbare=false\nworktree={worktree}\n")
    monkeypatch.chdir(repository / "sub" / inner)
    outcome = gradcheck("run", ".", "--changed-since", "HEAD")
    assert (outcome.code, "a repository's own files" in outcome.err) == (2, True), outcome


def test_no_error_of_git_shows_a_file_that_a_link_in_it_leads_to(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, gradcheck: Any
) -> None:
    secret = tmp_path_factory.mktemp("home") / "secret"
    secret.write_text("token of somebody\n")
    git("config", "advice.graftFileDeprecated", "false")
    tree = git("rev-parse", "HEAD^{tree}")
    (repository / ".git" / "objects" / tree[:2] / tree[2:]).unlink()  # without which git reports an error
    (repository / ".git" / "info" / "grafts").symlink_to(secret)
    assert "token" in subprocess.run(["git", "ls-tree", "HEAD"], capture_output=True, text=True, check=False).stderr
    outcome = gradcheck("run", "sub", "--changed-since", "HEAD")
    assert (outcome.code, "token" in outcome.err) == (2, False)
