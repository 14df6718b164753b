"""The command line knows what an earlier run has found, and does not where anything differs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

import gradcheck as package
from gradcheck.cache.environment_digest import EnvironmentDigest
from gradcheck.cli import _may_run, main
from gradcheck.cli.group import gradcheck, run_command
from gradcheck.cli.supervisor import CommandProcess
from tests.cli.test_processes import call

Run = Callable[..., int]


def run_as_process(*words: str, code: str | None = "code") -> None:
    """Run a command as a process of its own would; what it sets for its thread ends with it."""
    copy_context().run(run_command, gradcheck, list(words), CommandProcess(code))


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def run(cases: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """How many results were known to a run in a process that has begun with some code."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.setattr(EnvironmentDigest, "is_unchanged", lambda _: True)

    def known(*words: str, code: str | None = "code") -> int:
        capsys.readouterr()
        options = ("--output-format", "json", "--reference", "core")
        run_as_process("run", *words, *options, code=code)
        return int(json.loads(capsys.readouterr().out)["summary"]["cached"])

    return known


def test_what_passed_is_known_to_the_next_run(run: Run) -> None:
    assert [run(), run()] == [0, 2]
    assert Path(".gradcheck_cache/.gitignore").is_file()
    assert run(code="other code") == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere, names of files are text")
def test_a_name_that_is_no_text_costs_no_other_case(cases: Path, home: Path) -> None:
    """What the reference answers is kept by the ids of cases, which begin with the names of files."""
    Path("cases", os.fsdecode(b"\xff.yaml")).write_text("inputs: {x: [1.5, 2]}\ngraph: {y: (x * x).sum()}\n")
    for known in (0, 3):
        code, out, err = call("run", "--output-format", "json", env={"XDG_CACHE_HOME": str(home)})
        assert (code, err) == (0, "")
        assert json.loads(out)["summary"]["cached"] == known


@pytest.mark.parametrize("stated", ["XDG_CACHE_HOME", "HOME"])
def test_a_key_that_came_with_the_cases_signs_nothing(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stated: str
) -> None:
    """Entries are unpickled: whoever has the key could have any code run."""
    assert run() == 0
    key = Path(os.environ["XDG_CACHE_HOME"], "gradcheck", "secret")
    brought = folder / ".cache" / "gradcheck" / "secret"
    brought.parent.mkdir(parents=True)
    brought.write_bytes(key.read_bytes())
    brought.chmod(0o600)
    assert run() == 2
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv(stated, str(folder / ".cache" if stated == "XDG_CACHE_HOME" else folder))
    assert run() == 0
    run_as_process("run", "--reference", "core")
    line, *_ = capsys.readouterr().err.splitlines()
    assert line.startswith(f"gradcheck: '{brought}' lies in the project '{folder}'")
    assert line.endswith("the run goes on without a cache; set XDG_CACHE_HOME to a folder elsewhere")
    run_as_process("run", "--reference", "core", "--no-cache")
    assert capsys.readouterr().err == ""


def test_it_need_not_be(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [run("--no-cache"), run()] == [0, 0]
    assert run("--no-cache") == 0
    (folder / "gradcheck.toml").write_text("cache = false\n")
    assert run() == 0
    assert run("--cache") == 2
    monkeypatch.setenv("GRADCHECK_CACHE", "true")
    assert run() == 2


def test_who_calls_from_python_has_none(run: Run, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There, anything may have been changed."""
    run()
    assert run(code=None) == 0
    for _ in range(2):
        with pytest.raises(SystemExit):
            main(["run", "--reference", "core"])
    assert "cache" not in capsys.readouterr().out


def test_somebodys_engine_has_none(run: Run, folder: Path) -> None:
    (folder / "mine.py").write_text("from gradcheck.autograd.tensor import Tensor\n")
    assert [run("--engine", "mine.py:Tensor") for _ in range(2)] == [0, 0]
    assert run() == 0


def test_an_option_that_counts_is_noticed_and_another_is_not(run: Run) -> None:
    run()
    assert run("--rtol", "1e-9") == 0
    assert run("--dtype", "float32") == 0
    assert run("-x", "--lf", "--maxfail", "3", "--durations", "1", "-k", "squares or product") == 2


@pytest.mark.parametrize("spoil", [lambda folder: folder.write_text(""), lambda folder: folder.symlink_to("nowhere")])
def test_where_it_cannot_be_kept_all_else_is_as_ever(run: Run, spoil: Callable[[Path], Any]) -> None:
    spoil(Path(".gradcheck_cache"))
    assert [run(), run()] == [0, 0]


def test_only_a_run_looks_at_the_code_before_it_begins(folder: Path) -> None:
    (folder / "a.yaml").write_text("")
    asked = (["run"], ["run", "cases"], ["a.yaml"], ["a.yaml::one"], ["."], ["-"])
    assert [words for words in asked if not _may_run(words)] == []
    others = ([], ["validate", "."], ["--help"], ["run", "--help"], ["run", "-h"], ["list"], ["nowhere"])
    assert [words for words in others if _may_run(words)] == []


COMPUTING = {"torch", "gradcheck.engines.core", "gradcheck.checks.pipeline"}


def test_with_everything_known_nothing_that_computes_is_imported_and_a_changed_rule_is_noticed(
    cases: Path, folder: Path, home: Path
) -> None:
    """In processes as they are started from a shell, with a copy of the package."""
    assert package.__file__ is not None
    shutil.copytree(Path(package.__file__).parent, folder / "copy" / "gradcheck")
    (folder / "cases" / "exp.yaml").write_text(
        "{inputs: {x: [1, 2]}, graph: {loss: x.exp().sum()}, formulas: {x: exp(x)}}"
    )
    dropped = {"PYTHONDONTWRITEBYTECODE"}
    own = {name: value for name, value in os.environ.items() if name not in dropped}
    environment = own | {"PYTHONPATH": str(folder / "copy"), "XDG_CACHE_HOME": str(home)}

    def told() -> tuple[str, set[str]]:
        command = [sys.executable, "-X", "importtime", "-m", "gradcheck", "run", "-q", "cases"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=200, check=False)
        *_, summary = done.stdout.splitlines()
        imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()} & COMPUTING
        return summary.partition(" in ")[0] + summary.partition("s,")[2], imported

    assert told() == ("3 passed", COMPUTING)
    assert told() == ("3 passed 3 from the cache", set())
    rule = folder / "copy" / "gradcheck" / "autograd" / "ops" / "exp_log_pow.py"
    text, about = rule.read_text(), rule.stat()
    assert text.count("np.exp, lambda g, y, x: g * y)") == 1
    rule.write_text(text.replace("np.exp, lambda g, y, x: g * y)", "np.exp, lambda g, y, x: g * x)"))
    os.utime(rule, ns=(about.st_atime_ns, about.st_mtime_ns + 10**9))
    assert told() == ("1 failed, 2 passed", COMPUTING)
