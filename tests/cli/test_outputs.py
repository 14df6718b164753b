"""Where results go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradcheck.checks.result import RunResult
from gradcheck.cli.outputs import Outputs
from gradcheck.errors import UsageError

NOTHING = RunResult((), 0.0, {})


def outputs(file: str | None = None, reports: tuple[tuple[str, str], ...] = (), format: str = "full") -> Outputs:
    pairs = tuple((kind, Path(path)) for kind, path in reports)
    return Outputs(format, None if file is None else Path(file), pairs, "auto", 0)


def test_every_report_is_written_to_its_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = outputs("out/full.txt", (("json", "a.json"), ("junit", "b/c.xml")))
    chosen.prepare()
    chosen.write(NOTHING)
    assert json.loads((folder / "a.json").read_text())["cases"] == []
    assert (folder / "b" / "c.xml").read_text().startswith("<?xml")
    assert (folder / "out" / "full.txt").exists()
    assert capsys.readouterr().out == ""


def test_without_a_file_it_is_stdout(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs(format="json").write(NOTHING)
    assert json.loads(capsys.readouterr().out)["cases"] == []


def test_two_reports_need_two_files(folder: Path) -> None:
    with pytest.raises(UsageError, match="the same file"):
        outputs("a", (("json", "./a"),)).prepare()
