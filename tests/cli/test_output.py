"""Colours by the usual switches; files with their folders, or a clear refusal before any work; what a run keeps."""

from __future__ import annotations

import difflib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from gradcheck.checks.isolation.memory_limit import memory_limit
from gradcheck.checks.result import RunResult
from gradcheck.cli.output import Outputs, wants_color, write_diff, write_smallest_case, write_stderr
from gradcheck.errors import UsageError


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("choice", "environment", "terminal", "color"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, False, False),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
    ],
)
def test_when_there_is_colour(
    folder: Path, monkeypatch: pytest.MonkeyPatch, choice: str, environment: dict[str, str], terminal: bool, color: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_color(choice, Terminal() if terminal else io.StringIO()) is color


def test_without_a_stream_there_is_no_colour() -> None:
    assert not wants_color("auto", None)


def test_a_line_for_people_stays_one_and_commands_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    write_stderr("a\nb", "\x1b[31mc")
    assert capsys.readouterr().err == "a\\nb\n\\x1b[31mc\n"


@pytest.mark.parametrize("service", ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"])
def test_a_case_file_commands_no_service_whose_log_it_is_told_in(
    folder: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    monkeypatch.setenv(service, "true")
    (folder / "::add-mask::x.yaml").write_text("name: '##[error]a'\ninputs: {x: [1, 2]}\ngraph: {y: x * z}\n")
    (folder / "::error::b.yaml").write_text("name: '##[error]b'\ninputs: {x: [1]}\ngraph: {y: x}\nexpected: {x: 2}\n")
    for words in (
        *[("run", "."), ("run", ".", "-v"), ("run", ".", "--output-format", "concise"), ("validate", ".", "-v")],
        *[("run", ".", "--output-format", "markdown"), ("list", "."), ("explain", "."), ("snapshot", ".")],
    ):
        told = gradcheck(*words)
        lines = (told.out + told.err).splitlines()
        assert any(":error" in line for line in lines)
        assert not any(line.strip().startswith("::") or "##[" in line for line in lines), words
    gradcheck("run", ".", "-o", "report.txt", "--report", "markdown=report.md")
    told = (folder / "report.txt").read_text() + (folder / "report.md").read_text()
    assert not any(line.strip().startswith("::") or "##[" in line for line in told.splitlines())
    (case,) = json.loads(gradcheck("run", "::error::b.yaml", "--output-format", "json").out)["cases"]
    assert case["file"] == "::error::b.yaml"


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


def test_a_report_is_not_lost_in_a_closed_stdout(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(UsageError, match="standard output: it is closed"):
        outputs(format="json").write(NOTHING)


def test_two_reports_need_two_files(folder: Path) -> None:
    with pytest.raises(UsageError, match="the same file"):
        outputs("a", (("json", "./a"),)).prepare()


def test_the_same_id_gets_the_same_file_another_another(folder: Path) -> None:
    first = write_smallest_case("cases/a.yaml::two words", "name: a\n")
    assert write_smallest_case("cases/a.yaml::two words", "name: b\n") == first
    assert write_smallest_case("cases/b.yaml::two words", "name: c\n") != first
    assert Path(first).read_text().endswith(": cases/a.yaml::two words\nname: b\n")
    assert Path(first).name.startswith("two-words-")


def test_version_control_does_not_see_it(folder: Path) -> None:
    path = Path(write_smallest_case("a::b", "name: a\n"))
    assert (folder / path.parts[0] / ".gitignore").read_text() == "*\n"


def test_a_large_file_in_its_place_is_not_read(folder: Path) -> None:
    """An archive can hold a file of zeros that has no end in practice."""
    path = Path(write_smallest_case("a::b", "name: a\n"))
    path.write_bytes(b"")
    os.truncate(path, 2**40)
    with memory_limit(2**28):
        assert write_smallest_case("a::b", "name: a\n") == ""


def test_where_nothing_can_be_written_there_is_none(folder: Path) -> None:
    (folder / ".gradcheck_cache").write_text("a file")
    assert write_smallest_case("a::b", "name: a\n") == ""


def test_json_lines_come_as_they_are_done(wrong: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr("gradcheck.cli.output.write_stdout", lambda text, **_: written.append(text))
    assert gradcheck("run", "--output-format", "json-lines").code == 1
    assert [json.loads(text)["event"] for text in written] == ["begin", "case", "case", "case", "end"]
    written.clear()
    gradcheck("run", "--output-format", "json-lines", "--shrink")
    assert len(written) == 1
    assert "smallest" in json.loads(written[0].splitlines()[3])


@pytest.mark.parametrize("arguments", [("--output-format", "github"), ("--report", "markdown=page.md")])
def test_the_summary_of_a_job_gets_a_page(
    cases: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    page = cases.parent / "summary.md"
    page.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    gradcheck("run", *arguments)
    assert page.read_text().startswith("before\n<!-- a report of gradcheck -->\n## gradcheck: 2 passed in")
    gradcheck("run", "--output-format", "concise")
    assert page.read_text().count("##") == 1
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(cases))
    outcome = gradcheck("run", *arguments)
    assert outcome.code == 0
    assert "cannot write to GITHUB_STEP_SUMMARY" in outcome.err


@pytest.mark.parametrize("length", [1, 2, 3, 30])
@pytest.mark.parametrize("at", [0, 1, 14, 28, 29])
@pytest.mark.parametrize("new", [[], ["new"], ["new", "same", "new"]])
def test_a_difference_is_as_diff_shows_it(
    length: int, at: int, new: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"same {number}" for number in range(length)]
    changed = [*lines[:at], *new, *lines[at + 1 :]]
    write_diff("f", "\n".join(lines), "\n".join(changed))
    expected = difflib.unified_diff(lines, changed, "f", "f", lineterm="", n=1)
    assert capsys.readouterr().err.splitlines() == list(expected)


@pytest.mark.parametrize("first", ["# 0", "new"])
def test_a_long_file_is_not_compared_as_a_whole(
    first: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """difflib needs minutes for a file of 300,000 lines in which 150 return."""
    compared: list[int] = []
    original = difflib.unified_diff

    def counted(one: list[str], *rest: Any, **others: Any) -> Any:
        compared.append(len(one))
        return original(one, *rest, **others)

    monkeypatch.setattr(difflib, "unified_diff", counted)
    lines = [f"# {number % 150}" for number in range(20_000)]
    write_diff("f", "\n".join(lines), "\n".join([first, *lines[1:-2], "new", lines[-1]]))
    assert max(compared, default=0) < 10
    shown = "+new" if first == lines[0] else "f: the lines that change are too many to be shown"
    assert shown in capsys.readouterr().err.splitlines()
