"""A folder of small cases, and the command line run in it as a person would."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gradcheck.cli import main

GOOD = """\
name: squares
tags: [easy]
inputs: {x: [1, 2]}
graph:
  y: x * x
  loss: y.sum()
expected: {x: [2, 4]}
---
name: a product
inputs: {a: 3, b: 4}
graph: {c: a * b}
"""
BAD = """\
inputs: {x: [1, 2]}
graph: {y: x * z}
sede: 3
"""
WRONG = """\
name: a wrong derivation
inputs:
  x: [1, 2, 3]
graph:
  loss: (x * x).sum()
formulas:
  x: 3 * x
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    code: int
    out: str
    err: str


Gradcheck = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and an environment that says nothing of colours."""
    monkeypatch.chdir(tmp_path)
    told = [name for name in os.environ if name.startswith("GRADCHECK_")]
    for name in (
        "NO_COLOR",
        "FORCE_COLOR",
        "COLUMNS",
        "GITHUB_ACTIONS",
        "GITHUB_WORKSPACE",
        "GITHUB_STEP_SUMMARY",
        *told,
    ):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def cases(folder: Path) -> Path:
    """`cases/good.yaml` with two cases, in the working directory."""
    (folder / "cases").mkdir()
    (folder / "cases" / "good.yaml").write_text(GOOD)
    return folder / "cases"


@pytest.fixture
def bad(cases: Path) -> Path:
    path = cases / "bad.yaml"
    path.write_text(BAD)
    return path


@pytest.fixture
def wrong(cases: Path) -> Path:
    path = cases / "wrong.yaml"
    path.write_text(WRONG)
    return path


@pytest.fixture
def gradcheck(folder: Path, capsys: pytest.CaptureFixture[str]) -> Gradcheck:
    """Run the command line in this process."""

    def call(*arguments: str) -> Outcome:
        capsys.readouterr()
        code: object = 0
        with contextlib.suppress(SystemExit):
            try:
                main(arguments)
            except SystemExit as exit_:
                code = exit_.code
                raise
        out, err = capsys.readouterr()
        assert isinstance(code, int)
        return Outcome(code, out, err)

    return call
