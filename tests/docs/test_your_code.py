"""The page on one's own code: what it says passes passes, what it says fails fails."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradcheck import load, run
from tests.documents import blocks, gradcheck, without_time
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "your-code.md").read_text(encoding="utf-8")
FILES = re.findall(r"```python\n# file: (\S+)\n(.*?)```", PAGE, re.DOTALL)
CASES = re.findall(r"```yaml\n(# (\S+), (passes|fails)\n.*?)```", PAGE, re.DOTALL)
SNIPPET = re.findall(r"```python\n(from gradcheck.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES:
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("number", range(len(CASES)))
def test_cases_do_what_the_page_says(folder: Path, number: int) -> None:
    text, name, says = CASES[number]
    (folder / name).write_text(text, encoding="utf-8")
    (found,) = run(load([str(folder / name)]), allow_code=True).cases
    assert found.status == {"passes": "passed", "fails": "failed"}[says]


def test_the_reports_shown_are_what_comes_out(folder: Path) -> None:
    """All lines shown come out, in their order; `…` stands for lines that are left out."""
    for text, name, _ in CASES:
        (folder / name).write_text(text, encoding="utf-8")
    reports = [block for block in blocks(ROOT / "docs" / "your-code.md", "text") if block.startswith("$ gradcheck run")]
    assert len(reports) == 2
    for shown in reports:
        command, _, rest = shown.partition("\n")
        _, out = gradcheck(folder, *command.split()[2:])
        lines = iter([without_time(line) for line in out.splitlines()])
        for line in map(without_time, rest.splitlines()):
            assert line == "…" or line in lines, f"{line!r} is not in\n{out}"


def test_the_call_passes(folder: Path) -> None:
    (text,) = SNIPPET
    exec(text, {})


def test_all_of_it_is_looked_at() -> None:
    assert len(FILES) + len(CASES) + len(SNIPPET) == PAGE.count("```python") + PAGE.count("```yaml") == 8
