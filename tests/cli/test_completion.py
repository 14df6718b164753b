"""What a shell offers after a tab: by click, in the words of bash, zsh and fish."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from gradcheck.cli.group import gradcheck
from tests.paths import ROOT

CASES = "name: first\ninputs: {x: 1}\ngraph: {y: x + x}\n---\nname: second\ninputs: {x: 1}\ngraph: {y: x + x}\n"


def offered(*words: str, shell: type[ShellComplete] = BashComplete) -> list[str]:
    """For the last word."""
    found = shell(gradcheck, {}, "gradcheck", "_GRADCHECK_COMPLETE").get_completions(list(words[:-1]), words[-1])
    return [item.value if item.type == "plain" else item.type for item in found]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("ru",), ["run"]),
        (("run", "--output-f"), ["--output-format"]),
        (("run", "--output-format", "js"), ["json", "json-lines"]),
        (("run", "--engine", "t"), ["torch"]),
        (("run", "--engine", "mine.p"), ["file"]),
        (("run", "ca"), ["file"]),
        (("run", "cases.yaml::s"), ["cases.yaml::second"]),
        (("trace", "cases.yaml::"), ["cases.yaml::first", "cases.yaml::second"]),
        (("conform", "j"), ["jax"]),
        (("ops", "softm"), ["softmax", "softmin"]),
        (("cookbook", "relat"), ["relativistic energy"]),
        (("run", "--dtype", "bf"), ["bfloat16"]),
    ],
)
def test_commands_options_choices_engines_cases_and_ops(folder: Path, words: tuple[str, ...], found: list[str]) -> None:
    (folder / "cases.yaml").write_text(CASES)
    assert offered(*words) == found


def test_bash_is_offered_only_ids_that_it_takes_as_one_word(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It inserts them without quotes, and runs what it finds in them."""
    (folder / "cases.yaml").write_text(CASES.replace("first", "$(touch x)").replace("second", "größe"))
    monkeypatch.setenv("_GRADCHECK_COMPLETE", "bash_complete")
    assert offered("run", "cases.yaml::") == ["cases.yaml::größe"]
    monkeypatch.setenv("_GRADCHECK_COMPLETE", "zsh_complete")
    assert offered("run", "cases.yaml::", shell=ZshComplete) == ["cases.yaml::$(touch x)", "cases.yaml::größe"]


def test_a_broken_configuration_is_no_hindrance(folder: Path) -> None:
    (folder / "gradcheck.toml").write_text("wrong = 1\n")
    assert offered("run", "--output-f") == ["--output-format"]


@pytest.mark.parametrize("shell", [ZshComplete, FishComplete])
def test_other_shells_get_the_same(shell: type[ShellComplete]) -> None:
    assert offered("run", "--output-f", shell=shell) == ["--output-format"]
    assert "gradcheck" in shell(gradcheck, {}, "gradcheck", "_GRADCHECK_COMPLETE").source()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_itself(tmp_path: Path) -> None:
    """As documented: `eval "$(_GRADCHECK_COMPLETE=bash_source gradcheck)"`."""
    command = tmp_path / "gradcheck"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m gradcheck "$@"\n')
    command.chmod(0o755)
    script = (
        'eval "$(_GRADCHECK_COMPLETE=bash_source gradcheck)"\nCOMP_WORDS=(gradcheck sna); COMP_CWORD=1\n'
        "_gradcheck_completion gradcheck; echo ${COMPREPLY[@]}"
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("snapshot\n", "")
