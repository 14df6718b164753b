"""The plugin in a project of its own: what is collected, how it comes out, and what pytest's own options do with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.paths import ROOT
from tests.processes import run_python

CASES = """\
name: squares
tags: [easy]
inputs: {x: [1, 2]}
graph: {y: (x * x).sum()}
expected: {x: [2, 4]}
---
name: later
skip: not yet
inputs: {x: 1}
graph: {y: x + x}
---
name: known
xfail: a bug
inputs: {x: 1}
graph: {y: x + x}
expected: {x: 3}
---
name: wrong
inputs: {x: [1, 2]}
graph: {y: (x * x).sum()}
formulas: {x: 3 * x}
"""
GOOD = "inputs: {x: 1}\ngraph: {y: x + x}\n"
CONFIGURED = """\
[tool.pytest.ini_options]
gradcheck_files = ["proofs", "more/o*.yaml"]
filterwarnings = ["error"]

[tool.gradcheck]
seed = 7
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a test of its own, cases, and other YAML."""
    folder = tmp_path_factory.mktemp("project")
    for name, text in {
        "pyproject.toml": CONFIGURED,
        "test_own.py": "def test_own():\n    pass\n",
        "cases/some.gradcheck.yaml": CASES,
        "proofs/deep/one.yaml": GOOD,
        "more/one.yaml": GOOD,
        "more/other.yaml": "a: playbook\n",
        "workflow.yml": "on: push\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def call(project: Path, *words: str, may_fail: bool = False) -> tuple[int, list[str]]:
    plugin = ("-p", "no:gradcheck", "-p", "gradcheck.pytest_plugin")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GRADCHECK_REFERENCE": "core"}
    done = run_python("-m", "pytest", *plugin, "-q", "--color=no", *words, cwd=project, env=environment)
    assert done.stderr == "" or may_fail
    return done.returncode, (done.stdout + done.stderr).splitlines()


def test_its_own_files_those_of_the_option_and_those_named_are_collected(project: Path) -> None:
    def collected(*words: str) -> list[str]:
        return [line for line in call(project, "--collect-only", *words)[1] if "::" in line]

    assert collected() == [
        *[f"cases/some.gradcheck.yaml::{name}" for name in ("squares", "later", "known", "wrong")],
        "more/one.yaml::one",
        "more/other.yaml::the file itself",
        "proofs/deep/one.yaml::one",
        "test_own.py::test_own",
    ]
    assert collected("workflow.yml") == ["workflow.yml::the file itself"]
    assert collected("-k", "easy") == ["cases/some.gradcheck.yaml::squares"]


def test_outcomes_are_pytests_and_a_failure_shows_our_report(project: Path) -> None:
    code, lines = call(project, "-rA", "--junit-xml=junit.xml")
    assert code == 1
    assert lines[-1].startswith("2 failed, 4 passed, 1 skipped, 1 xfailed in")
    text = "\n".join(lines)
    assert "Traceback" not in text
    assert "pytest_plugin.py" not in text
    assert "SKIPPED [1] cases/some.gradcheck.yaml:7: not yet" in lines
    assert "21 | formulas: {x: 3 * x}" in text
    assert "reproduce: gradcheck run 'cases/some.gradcheck.yaml::wrong' --seed 7" in text
    assert "FAILED cases/some.gradcheck.yaml::wrong - the formula of x is wrong" in lines
    suite = ElementTree.parse(project / "junit.xml").getroot()[0]
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "8", "failures": "2", "errors": "0", "skipped": "2",
    }  # fmt: skip


def test_what_failed_last_runs_alone_in_another_process_too(project: Path) -> None:
    memory = project / ".pytest_cache" / "v" / "cache" / "lastfailed"
    memory.parent.mkdir(parents=True, exist_ok=True)
    memory.write_text('{"cases/some.gradcheck.yaml::wrong": true}')
    code, lines = call(project, "cases", "--lf", "-n", "1")
    assert code == 1
    assert lines[-1].startswith("1 failed in")


CRASHES = """\
from gradcheck.language.loader import case_files

build_case = case_files.build_case

def crashes(document, *rest):
    if "boom" in document.text:
        raise RecursionError("too deep")
    return build_case(document, *rest)

case_files.build_case = crashes
"""


def test_the_name_of_a_case_commands_no_terminal_and_no_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_BUILD", "True")
    (tmp_path / "\x1b[2Ja.gradcheck.yaml").write_text(GOOD)
    command = "##vso[task.setvariable variable=PATH]."
    endings = (f"skip: '{command}'", f"xfail: '{command}'\nexpected: {{x: 3}}", "expected: {x: 3}")
    cases = [f"name: '{number} {command}'\n{GOOD}{end}\n" for number, end in enumerate(endings)]
    (tmp_path / "b.gradcheck.yaml").write_text("---\n".join(cases))
    _, lines = call(tmp_path, "-vv", "-rA")
    (told,) = (line for line in lines if "PASSED" in line and "100%" not in line and "%" in line)
    assert "::\\x1b[2Ja" in told
    assert not [line for line in lines if "##vso" in line]
    assert "1 failed, 1 passed, 1 skipped, 1 xfailed" in lines[-1]


@pytest.mark.parametrize("name", ["c\n##vso[task]", "c\n::error::x", "\x1b[2Jc", "\n::group::a/c"])
def test_the_name_of_a_file_commands_no_terminal_and_no_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    file = tmp_path / f"{name}.gradcheck.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{GOOD}expected: {{x: 3}}\n---\nname: second\nskip: no\n{GOOD}")
    for words in ("-q", "-rA"), ("-vvv", "-rA"):
        code, lines = call(tmp_path, *words)
        assert code == 1
        assert not [line for line in lines if line.startswith("::") or "##vso" in line or "\x1b" in line]


@pytest.mark.parametrize("name", ["c\n::error::x", "\x1b[2Jc"])
def test_a_collected_file_is_shown_by_a_plain_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (tmp_path / f"{name}.gradcheck.yaml").write_text(GOOD)
    _, lines = call(tmp_path, "--collect-only", "-v")
    assert not [line for line in lines if line.startswith("::") or "\x1b" in line]


def test_a_configuration_commands_no_terminal_and_no_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_BUILD", "True")
    (tmp_path / "one.gradcheck.yaml").write_text(GOOD)
    (tmp_path / "gradcheck.toml").write_text('"\\u001b]0;title\\u0007##vso[task.setvariable]" = 1\n')
    code, lines = call(tmp_path, "-rA")
    assert (code, any("unknown key" in line for line in lines)) == (1, True)
    assert not [line for line in lines if "##vso" in line or "\x1b" in line]


@pytest.mark.parametrize("entry", [".", "./sub", "sub/../sub/", "{root}/sub", "./sub/*.yaml", "one.yaml"])
def test_an_entry_may_be_any_spelling_of_a_path(tmp_path: Path, entry: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "one.yaml").write_text(GOOD)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\ngradcheck_files = {entry.format(root=tmp_path)}\n")
    assert call(tmp_path)[1][-1].startswith("1 passed")


@pytest.mark.parametrize(("entry", "code"), [("casses", 4), ("more/non.yaml", 4), ("more/*.yaml", 0), ("any.yaml", 0)])
def test_an_entry_of_the_option_that_nothing_matches_is_an_error(tmp_path: Path, entry: str, code: int) -> None:
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    (tmp_path / "pytest.ini").write_text(f"[pytest]\ngradcheck_files = {entry}\n")
    found, lines = call(tmp_path, may_fail=True)
    assert found == code
    assert any(f"gradcheck_files: there is no {entry}" in line for line in lines) is (code == 4)


@pytest.mark.parametrize("suffix", ["yml", "YAML", "Yml"])
def test_files_are_collected_whatever_the_letters_of_their_suffix(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"some.gradcheck.{suffix}").write_text(GOOD)
    code, lines = call(tmp_path)
    assert (code, lines[-1][:8]) == (0, "1 passed")


def test_a_crash_over_one_file_costs_that_file_alone(tmp_path: Path) -> None:
    for name, text in {
        "conftest.py": CRASHES,
        "bad.gradcheck.yaml": GOOD.replace("x", "boom"),
        "good.gradcheck.yaml": GOOD,
    }.items():
        (tmp_path / name).write_text(text)
    code, lines = call(tmp_path, "-rA")
    assert (code, lines[-1].split(" in ")[0]) == (1, "1 failed, 1 passed")
    told = " ".join(" ".join(lines).split())
    assert "gradcheck crashed while reading this case: RecursionError: too deep" in told
    assert "bad.gradcheck.yaml::the file itself" in told
    assert "Traceback" not in told


def test_importing_it_is_light() -> None:
    script = "import sys, gradcheck.pytest_plugin; print(*{'numpy', 'torch', 'click', 'yaml'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
