"""Commands take their defaults from the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_help_works_in_spite_of_a_broken_configuration(folder: Path, gradcheck: Any) -> None:
    (folder / "pyproject.toml").write_text("[tool.gradcheck]\nx = 1\n")
    assert gradcheck("run", "-h").code == 0
    outcome = gradcheck("run")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert outcome.err.startswith("gradcheck: pyproject.toml:2:1: unknown key 'x'")


def test_configured_paths_are_the_default_and_given_ones_win(cases: Path, folder: Path, gradcheck: Any) -> None:
    (folder / "pyproject.toml").write_text('[tool.gradcheck]\npaths = ["elsewhere"]\n')
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "one.yaml").write_text("inputs: {x: 1}\ngraph: {y: x + x}\n")
    assert gradcheck("list").out == "elsewhere/one.yaml::one\n"
    assert "squares" in gradcheck("list", "cases").out
