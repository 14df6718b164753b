"""What the pages tell other repositories to write works in one: configuration, workflows, hooks, the plugin."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from gradcheck.cli.config import load_configuration
from gradcheck.cli.group import gradcheck as group
from gradcheck.cli.group import run_command
from tests.paths import ROOT

PAGES = ("README.md", "docs/your-repository.md", "docs/command-line.md")
GOOD = "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nformulas: {x: 2 * x}\n"


def blocks(language: str, *pages: str) -> Iterator[str]:
    for page in pages:
        yield from re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def commands() -> list[str]:
    """Every `gradcheck …` that a workflow of the pages runs."""
    found: list[str] = []

    def look(node: Any) -> None:
        for key, below in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
            if key in ("run", "script") and isinstance(below, str) and below.startswith("gradcheck"):
                found.append(below)
            look(below)

    for block in blocks("yaml", *PAGES):
        look(yaml.safe_load(block))
    return found


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another repository, configured as the page says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    first, *_ = blocks("toml", "docs/your-repository.md")
    (tmp_path / "pyproject.toml").write_text(first.replace('jobs = "auto"', "jobs = 1"))
    (tmp_path / "cases").mkdir()
    for number in range(4):
        (tmp_path / "cases" / f"good{number}.yaml").write_text(GOOD)
    return tmp_path


def test_the_configuration_is_one(repository: Path) -> None:
    assert {"paths", "engines", "jobs"} <= load_configuration().settings.keys()
    options = [tomllib.loads(block) for block in blocks("toml", "docs/your-repository.md")]
    assert {"tool": {"pytest": {"ini_options": {"gradcheck_files": ["cases"]}}}} in options


@pytest.mark.parametrize("command", commands())
def test_the_commands_of_workflows_run(repository: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    words = shlex.split(command.replace("${{ matrix.part }}", "2").replace("-j auto", ""))
    assert run_command(group, words[1:]) == 0
    assert "1 passed" in (out := capsys.readouterr().out) or "4 passed" in out
    for format, path in re.findall(r"--report (\w+)=(\S+)", command):
        text = (repository / path).read_text()
        assert ElementTree.fromstring(text) is not None if format == "junit" else json.loads(text) is not None
    assert ("github" in command) == (repository / "summary.md").exists()


def test_there_are_commands_for_every_tool_that_is_named() -> None:
    assert len(commands()) == 4
    hooks = [hook["id"] for b in blocks("yaml", "docs/your-repository.md") for r in _repos(b) for hook in r["hooks"]]
    known = [hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())]
    assert hooks == known


def _repos(block: str) -> list[Any]:
    found = yaml.safe_load(block)
    return found.get("repos", []) if isinstance(found, dict) else []
