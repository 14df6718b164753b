"""What is written: with its folders, whole or not at all, over no file of anybody else's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradcheck.checks.result import RunResult
from gradcheck.cli.write_files import (
    CaseFileText,
    forbid_overwriting_inputs,
    is_report_file,
    prepare_file,
    write_file,
)
from gradcheck.errors import UsageError
from gradcheck.reports import FORMATS, Look, render_file
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
    write_file(path, "{}\n", is_report_file)
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
    path.write_text(render_file(RUNS[run], format, look), encoding="utf-8")
    prepare_file(path)


@pytest.mark.parametrize(
    "text",
    [
        "inputs: {x: [1, 2]}\ngraph: {y: x * x}\n",
        "3 passed in 0.1s\nand then my own notes",
        "..F   [100%]\n1 failed, 2 passed in 0.12s\n",
        "my diary\ninterrupted: by lunch\n",
        '{"schema": 1, "cases": []}',
        "[]" + " " * 5_000 + "mine",
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
    write_file(Path(os.devnull), "gone", is_report_file)


def test_an_input_is_known_by_any_name(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("x")
    (tmp_path / "soft").symlink_to(path)
    os.link(path, tmp_path / "hard")
    for name in ("a.yaml", "soft", "hard"):
        with pytest.raises(UsageError, match="read by this run"):
            forbid_overwriting_inputs([tmp_path / name], [str(path)])
    forbid_overwriting_inputs([tmp_path / "other"], [str(path)])
    forbid_overwriting_inputs([], ["-"])


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "report").symlink_to(tmp_path / "precious")
    with pytest.raises(UsageError, match="leads out of"):
        prepare_file(tmp_path / "clone" / "report")
    with pytest.raises(UsageError, match="leads out of"):
        write_file(tmp_path / "clone" / "report", "# a report of gradcheck\n", is_report_file)
    assert not (tmp_path / "precious").exists()


@pytest.mark.parametrize("now", [b"inputs: {x: 3}", b"inputs: {}\n", b"", None, "pipe"])
def test_a_file_that_changed_since_it_was_read_stays(tmp_path: Path, now: bytes | str | None) -> None:
    """An editor empties a file before it writes: what it then writes would be lost with a file that was replaced."""
    path = tmp_path / "case.yaml"
    path.write_text("inputs: {}")
    known = CaseFileText.read(path)
    path.unlink()
    if isinstance(now, bytes):
        path.write_bytes(now)
    elif now == "pipe":
        os.mkfifo(path)
    with pytest.raises(UsageError, match=r"cannot write '.*case.yaml': "):
        known.replace("inputs: {x: 2}")
    assert os.listdir(tmp_path) == ([] if now is None else ["case.yaml"])
    assert not isinstance(now, bytes) or path.read_bytes() == now


def test_line_ends_and_a_mark_of_the_encoding_stay(tmp_path: Path) -> None:
    path = tmp_path / "case.yaml"
    for end in (b"\n", b"\r\n", b"\r"):
        path.write_bytes(b"\xef\xbb\xbfname: a" + end)
        CaseFileText.read(path).replace("name: a\nseed: 1\n")
        assert path.read_bytes() == b"\xef\xbb\xbfname: a" + end + b"seed: 1" + end
    path.write_bytes(b"name: a\r\nseed: 1\n")
    with pytest.raises(UsageError, match="end in several ways"):
        CaseFileText.read(path).replace("name: a\n")


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
    file.write_text(f"# a report of gradcheck\n{file.read_text()}")
    found = gradcheck("run", str(file), "-o", str(file))
    assert (found.code, "read by this run" in found.err) == (2, True)


def test_the_same_report_may_be_written_twice(cases: Path, gradcheck: Gradcheck) -> None:
    for format in FORMATS:
        for _ in range(2):
            found = gradcheck("run", str(cases), "--output-format", format, "-o", f"report.{format}")
            assert (found.code, found.err) == (0, "")
