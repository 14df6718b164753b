"""Colours by the usual switches; files with their folders, or a clear refusal before any work."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gradcheck.cli.output import prepare_file, wants_color, write_file
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
