"""`[tool.gradcheck]`: found upwards, checked, and never a traceback; commands take their defaults from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gradcheck.cli.config import read_config
from gradcheck.errors import UsageError


def write(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)


def test_values_are_those_of_the_options(folder: Path) -> None:
    write(
        folder,
        '[tool.gradcheck]\npaths = ["a", "b"]\nengine = ["core"]\nrtol = 1\nseed = 7\noutput-format = "concise"\n',
    )
    assert read_config() == {
        "paths": ("a", "b"), "engines": ("core",), "rtol": 1.0, "seed": 7, "output_format": "concise",
    }  # fmt: skip


def test_it_is_found_upwards_and_its_paths_start_where_it_stands(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, '[tool.gradcheck]\npaths = "proofs"\nengine = "core"\n')
    (folder / "sub").mkdir()
    write(folder / "sub", "[project]\nname = 'another'\n")
    monkeypatch.chdir(folder / "sub")
    assert read_config() == {"paths": (str(Path("..", "proofs")),), "engines": ("core",)}


def test_without_any_there_is_nothing(folder: Path) -> None:
    write(folder, "[tool.ruff]\n")
    assert read_config() == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.gradcheck]\nrtol = 'x'\n", "pyproject.toml:2:1: rtol cannot be 'x'; it must be a number"),
        ("[tool.gradcheck]\n\n  seed = 1.5\n", "pyproject.toml:3:3: seed cannot be 1.5; it must be a whole number"),
        ("[tool.gradcheck]\nseed = true\n", "pyproject.toml:2:1: seed cannot be True; it must be a whole number"),
        ("[tool.gradcheck]\nrtol = -1\n", "pyproject.toml:2:1: rtol: -1.0 is not in the range x>=0"),
        ("[tool.gradcheck]\ndtype = 'float65'\n", "pyproject.toml:2:1: dtype: 'float65' is not one of"),
        ("[tool.gradcheck]\ndtype = 64\n", "pyproject.toml:2:1: dtype cannot be 64; it must be a text"),
        ("[tool.gradcheck]\nengine = [1]\n", "pyproject.toml:2:1: engine cannot be 1; it must be a text"),
        ("[tool.gradcheck]\ndtype = ['float32']\n", "pyproject.toml:2:1: dtype cannot be ['float32']"),
        ("[tool.gradcheck]\npaths = 3\n", "pyproject.toml:2:1: paths must be a list of texts, not 3"),
        ("[tool.gradcheck]\npaths = []\n", "pyproject.toml:2:1: paths must be a list of texts, not []"),
        ("[x]\nrtoll = 1\n[tool.gradcheck]\nrtoll = 1\n",
         "pyproject.toml:4:1: unknown key 'rtoll' in [tool.gradcheck]; did you mean 'rtol'?"),
        ("[tool]\ngradcheck = 3\n", "pyproject.toml: tool.gradcheck must be a table"),
        ("[tool.gradcheck\n", "pyproject.toml:1:16: "),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_their_line(folder: Path, text: str, message: str) -> None:
    write(folder, text)
    with pytest.raises(UsageError) as caught:
        read_config()
    assert str(caught.value).startswith(message)


def test_text_that_is_not_utf8_is_refused(folder: Path) -> None:
    (folder / "pyproject.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not UTF-8"):
        read_config()


def test_a_folder_may_be_given(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    write(other, "[tool.gradcheck]\nseed = 3\n")
    assert read_config(other) == {"seed": 3}
    assert read_config(folder) == {}


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
