"""`docs/your-engine.md` from top to bottom: the files that it shows, the commands, and what they answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gradcheck.cli import main
from tests.documents import blocks, without_time
from tests.paths import ROOT

PAGE = ROOT / "docs" / "your-engine.md"


def file_of(block: str) -> str:
    """Named in a comment on its first line."""
    return block.partition("\n")[0].removeprefix("# ")


def answer(command: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    with pytest.raises(SystemExit):
        main(command.removeprefix("$ gradcheck ").split())
    out, err = capsys.readouterr()
    assert err == ""
    return [without_time(line) for line in out.splitlines()]


def assert_shown(shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All lines shown come out, in their order; `…` stands for lines that are left out."""
    command, _, rest = shown.partition("\n")
    came = answer(command, capsys)
    position = 0
    for line in map(without_time, rest.splitlines()):
        if line == "…":
            continue
        assert line in came[position:], f"{line!r} is not in\n" + "\n".join(came)
        position = came.index(line, position) + 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shallow: None) -> Path:
    """A working directory with the page's cases."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    (cases,) = blocks(PAGE, "yaml")
    (tmp_path / file_of(cases)).write_text(cases, encoding="utf-8")
    return tmp_path


def engine(number: int, folder: Path) -> None:
    """The page's first engine, or the mended one."""
    texts = [block for block in blocks(PAGE, "python") if file_of(block) == "tiny.py"]
    assert len(texts) == 2
    (folder / "tiny.py").write_text(texts[number], encoding="utf-8")


def test_the_mistake_is_found_as_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine(0, folder)
    assert_shown(blocks(PAGE, "text")[0], capsys)


def test_the_mended_engine_passes_and_conforms_as_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine(1, folder)
    for shown in blocks(PAGE, "text")[1:]:
        assert_shown(shown, capsys)


def test_the_test_shown_passes_with_the_mended_engine_alone(folder: Path) -> None:
    (test,) = [block for block in blocks(PAGE, "python") if file_of(block).startswith("test_")]
    names: dict[str, Any] = {}
    exec(test, names)
    engine(0, folder)
    with pytest.raises(AssertionError, match="is wrong in"):
        names["test_my_engine"]()
    engine(1, folder)
    names["test_my_engine"]()


def test_what_is_shown_is_all_of_it() -> None:
    assert len(blocks(PAGE, "text")) == 3


#: With names that no table knows.
MATRIX = """
import numpy as np

class Matrix:
    def __init__(self, cells, feeds=()):
        self.cells, self.feeds, self.slopes = np.array(cells, float), feeds, None

    def __add__(self, other):
        return Matrix(self.cells + other.cells, [(self, lambda g: g), (other, lambda g: g)])

    def __mul__(self, other):
        return Matrix(self.cells * other.cells, [(self, lambda g: g * other.cells), (other, lambda g: g * self.cells)])


def run_reverse(node, weights, seen=None):
    node.slopes = weights if node.slopes is None else node.slopes + weights
    for feed, rule in node.feeds:
        run_reverse(feed, rule(weights))
"""


def test_a_class_that_is_not_understood_is_with_five_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matrix.py").write_text(MATRIX, encoding="utf-8")
    (adapter,) = (block for block in blocks(PAGE, "python") if file_of(block) == "adapter.py")
    (tmp_path / "adapter.py").write_text(adapter, encoding="utf-8")
    case = "{inputs: {a: [1, 2], b: [3, 4]}, graph: {c: a * b, d: c + a}, backward: {d: [1, 0.5]}}"
    (tmp_path / "cases.yaml").write_text(case, encoding="utf-8")
    assert "1 passed" in " ".join(answer("$ gradcheck run cases.yaml --engine adapter.py:Matrix", capsys))
    with pytest.raises(SystemExit) as ended:
        main(["run", "cases.yaml", "--engine", "matrix.py:Matrix"])
    assert ended.value.code == 5
