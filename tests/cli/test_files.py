"""What is written: with its folders, whole or not at all, over no file of anybody else's."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gradcheck.checks.result import RunResult
from gradcheck.cli.files import prepare_file, refuse_inputs, write_file
from gradcheck.errors import UsageError
from gradcheck.reports import FORMATS, Look, render
from tests.cli.conftest import Gradcheck
from tests.reports.conftest import make_everything

RUNS = {
    "of every kind": make_everything(),
    "empty": RunResult((), 0.01, {}),
    "interrupted": RunResult((), 71.0, {}, interrupted=True),
}


def test_folders_above_a_report_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "report.json"
    prepare_file(path)
    write_file(path, "{}\n")
    assert path.read_bytes() == b"{}\n"


def test_what_cannot_be_written_is_refused_beforehand(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="it is a folder"):
        prepare_file(tmp_path)
    with pytest.raises(UsageError, match=r"cannot write '.*x\.json'"):
        prepare_file(tmp_path / "file" / "x.json")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("look", [Look(), Look(color=True), Look(verbosity=-1), Look(verbosity=1)])
def test_a_report_of_ours_may_be_written_over(tmp_path: Path, format: str, run: str, look: Look) -> None:
    path = tmp_path / "report"
    path.write_text(render(RUNS[run], format, look), encoding="utf-8")
    prepare_file(path)


@pytest.mark.parametrize(
    "text",
    [
        "inputs: {x: [1, 2]}\ngraph: {y: x * x}\n",
        "3 passed in 0.1s\nand then my own notes",
        '{"schema": 1, "cases": []}',
        '<?xml version="1.0"?><testsuites name="pytest tests"/>',
        "import numpy as np\n",
        "12 in 3s",
        "\0\1\2\xff",
        " ",
    ],
)
def test_whatever_else_there_is_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine"
    path.write_text(text)
    with pytest.raises(UsageError, match="something else than a report"):
        prepare_file(path)
    assert path.read_text() == text


def test_an_empty_file_and_what_is_no_file_may_be_written(tmp_path: Path) -> None:
    path = tmp_path / "made.by.mktemp"
    path.touch()
    prepare_file(path)
    prepare_file(Path(os.devnull))
    write_file(Path(os.devnull), "gone")


def test_an_input_is_known_by_any_name(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("x")
    (tmp_path / "soft").symlink_to(path)
    os.link(path, tmp_path / "hard")
    for name in ("a.yaml", "soft", "hard"):
        with pytest.raises(UsageError, match="read by this run"):
            refuse_inputs([tmp_path / name], [str(path)])
    refuse_inputs([tmp_path / "other"], [str(path)])
    refuse_inputs([], ["-"])


def test_a_link_stays_a_link_and_permissions_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "report", tmp_path / "link"
    path.write_text("1 passed in 0.1s")
    path.chmod(0o640)
    link.symlink_to(path)
    write_file(link, "2 passed in 0.1s\n")
    assert link.is_symlink()
    assert path.read_text() == "2 passed in 0.1s\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_what_cannot_be_finished_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gradcheck.cli.files.os.replace", full)
    with pytest.raises(UsageError, match="No space left"):
        write_file(path, "new")
    assert [file.name for file in tmp_path.iterdir()] == ["report"]
    assert path.read_text() == "old"


@pytest.mark.parametrize("option", ["-o{}", "--report=json={}", "--report=junit={}"])
def test_a_run_writes_over_none_of_its_files(cases: Path, gradcheck: Gradcheck, option: str) -> None:
    file = cases / "good.yaml"
    before = file.read_text()
    for path in (file, cases.parent / "pyproject.toml"):
        if not path.exists():
            path.write_text("[tool.gradcheck]\n")
        found = gradcheck("run", str(cases), option.format(path))
        assert (found.code, found.out) == (2, "")
        assert "something else than a report" in found.err
    assert file.read_text() == before


def test_not_even_over_one_that_looks_like_a_report(cases: Path, gradcheck: Gradcheck) -> None:
    file = cases / "good.yaml"
    file.write_text(f"{file.read_text()}# the last time:\n# ok\n---\n3 passed in 0.1s\n")
    found = gradcheck("run", str(file), "-o", str(file))
    assert (found.code, "read by this run" in found.err) == (2, True)


def test_the_same_report_may_be_written_twice(cases: Path, gradcheck: Gradcheck) -> None:
    for format in FORMATS:
        for _ in range(2):
            found = gradcheck("run", str(cases), "--output-format", format, "-o", f"report.{format}")
            assert (found.code, found.err) == (0, "")
