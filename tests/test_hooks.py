"""What other repositories take from this one: the hooks of pre-commit, run by it, and the action for GitHub."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.paths import ROOT

HOOKS = ROOT / ".pre-commit-hooks.yaml"
GOOD = "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nformulas: {x: 2 * x}\n"
WRONG = GOOD.replace("2 * x", "3 * x")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with cases, and `gradcheck` on the path."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "good.yaml").write_text(GOOD)
    (tmp_path / "other.yaml").write_text("a: b\n")
    command = tmp_path / "bin" / "gradcheck"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m gradcheck "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("GRADCHECK_REFERENCE", "core")
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def ran(*command: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    return done.returncode, done.stdout + done.stderr


def test_hooks_are_for_case_files() -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load(HOOKS.read_text())}
    assert {id: hook["entry"] for id, hook in hooks.items()} == {
        "gradcheck-validate": "gradcheck validate",
        "gradcheck-run": "gradcheck run --quiet",
        "gradcheck-engine": "gradcheck run --quiet",
    }
    assert hooks["gradcheck-engine"]["files"] == r"\.py$"
    for name in ("gradcheck-validate", "gradcheck-run"):
        files = ("cases/a.yaml", "cases/a\nb.yml", "b/cases/c/a.YML", "a.gradcheck.Yaml", "other.yaml", "cases/a.py")
        assert [bool(re.search(hooks[name]["files"], file)) for file in files] == [True] * 4 + [False] * 2
        assert (hooks[name]["types"], hooks[name]["types_or"]) == ([], ["file", "symlink"])


def test_pre_commit_runs_them(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    if importlib.util.find_spec("pre_commit") is None:
        pytest.skip("needs pre-commit")
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    hooks = tmp_path_factory.mktemp("hooks")
    (hooks / HOOKS.name).write_text(HOOKS.read_text())
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "hooks")):
        assert ran("git", "-C", str(hooks), *who, *words)[0] == 0
    revision = ran("git", "-C", str(hooks), "rev-parse", "HEAD")[1].strip()
    used = [{"id": id, "language": "system"} for id in ("gradcheck-validate", "gradcheck-run")]
    config = {"repos": [{"repo": str(hooks), "rev": revision, "hooks": used}]}
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    ran("git", "init", "-q")
    ran("git", "add", ".")
    pre_commit = (sys.executable, "-m", "pre_commit", "run", "--all-files")
    code, text = ran(*pre_commit, PRE_COMMIT_HOME=str(hooks / "home"))
    assert (code, text.count("Passed")) == (0, 2), text
    (repository / "cases" / "good.yaml").write_text(WRONG)
    code, text = ran(*pre_commit, PRE_COMMIT_HOME=str(hooks / "home"))
    assert (code, text.count("Passed"), text.count("Failed")) == (1, 1, 1)
    assert "the formula of x is wrong" in text
    used[:] = [{"id": "gradcheck-engine", "language": "system"}]
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    engine = (*pre_commit[:-1], "--files", "tiny.py")
    assert "no files to check" in ran(*pre_commit, PRE_COMMIT_HOME=str(hooks / "home"))[1]
    (repository / "tiny.py").write_text("")
    assert "the formula of x is wrong" in ran(*engine, PRE_COMMIT_HOME=str(hooks / "home"))[1]


def steps() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    return found


def test_the_action_is_composite_and_no_input_is_part_of_a_script() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" and "${{" not in step["run"] for step in steps())
    told = {value for step in steps() for value in step.get("env", {}).values()}
    assert told == {f"${{{{ inputs.{name} }}}}" for name in action["inputs"]}


def test_the_action_runs_no_module_of_the_repository(repository: Path) -> None:
    (repository / "pip.py").write_text("open('ran', 'w')")
    for step in steps()[:-1]:
        ran("bash", "-c", step["run"], GITHUB_ACTION_PATH=str(repository / "nothing"))
    assert not (repository / "ran").exists()


def test_the_action_checks_and_writes_what_is_asked(repository: Path) -> None:
    script = steps()[-1]["run"]
    code, text = ran("bash", "-eo", "pipefail", "-c", script, PATHS="", ARGUMENTS="", SARIF="")
    assert (code, text[:9]) == (0, "1 passed ")
    (repository / "cases" / "good.yaml").write_text(WRONG)
    code, text = ran("bash", "-eo", "pipefail", "-c", script, PATHS="cases", ARGUMENTS="--seed 3", SARIF="a b.sarif")
    assert code == 1
    assert text.startswith("::error file=cases/good.yaml,line=3,col=15")
    assert '"version": "2.1.0"' in (repository / "a b.sarif").read_text()


@pytest.mark.parametrize("paths", ["cases\nwrong.yaml", "cases/good.yaml wrong.yaml", "  cases\n\n  wrong.yaml\n"])
def test_the_action_checks_the_paths_of_every_line(repository: Path, paths: str) -> None:
    (repository / "wrong.yaml").write_text(WRONG)
    code, text = ran("bash", "-eo", "pipefail", "-c", steps()[-1]["run"], PATHS=paths, ARGUMENTS="", SARIF="")
    assert (code, "1 passed" in text) == (1, True), text


def test_the_action_passes_on_the_arguments_of_every_line(repository: Path) -> None:
    script, paths = steps()[-1]["run"], "cases\nwrong.yaml"
    (repository / "wrong.yaml").write_text(WRONG)
    for arguments, code in (("--seed 3\n--trials 2\n", 1), ("--seed 3\n--unknown", 2)):
        told = ran("bash", "-eo", "pipefail", "-c", script, PATHS=paths, ARGUMENTS=arguments, SARIF="")
        assert (told[0], "1 passed" in told[1]) == (code, code == 1), told[1]


@pytest.mark.parametrize("paths", ['"two words/wrong.yaml"', 'cases\n"two words/wrong.yaml"', "it's.yaml"])
def test_a_path_of_the_action_may_have_blanks(repository: Path, paths: str) -> None:
    (repository / "two words").mkdir()
    for name in ("two words/wrong.yaml", "it's.yaml"):
        (repository / name).write_text(WRONG)
    code, text = ran("bash", "-eo", "pipefail", "-c", steps()[-1]["run"], PATHS=paths, ARGUMENTS="", SARIF="")
    assert (code, "::error file=" in text, "no such file" in text) == (1, True, False), text


def test_an_open_quote_of_the_action_checks_nothing_else(repository: Path) -> None:
    code, text = ran("bash", "-eo", "pipefail", "-c", steps()[-1]["run"], PATHS='"cases', ARGUMENTS="", SARIF="")
    assert (code != 0, "passed" in text) == (True, False), text


def test_no_path_of_the_action_is_an_option(repository: Path) -> None:
    """A file's name may have blanks, at which the action parts the paths."""
    (repository / "code.py").write_text("open('ran', 'w')")
    code, text = ran(
        "bash", "-c", steps()[-1]["run"], PATHS="cases/a --engine=code.py:X b.yaml", ARGUMENTS="", SARIF=""
    )
    assert not (repository / "ran").exists()
    assert (code, "file=--engine=code.py%3AX" in text) == (2, True), text
