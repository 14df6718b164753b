"""The bar shows on long runs alone, and leaves nothing behind."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest

from gradcheck.reports.commands.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def test_a_long_run_shows_how_far_it_is(terminal: Terminal, case: Any) -> None:
    with Progress(3, terminal, patience=0.0) as progress:
        deadline = time.monotonic() + 200
        while "0/3" not in terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        progress.advance(case())
        progress.advance(case(status="failed"))
        while "2/3" not in terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "2/3" in terminal.getvalue()
    assert "1 wrong" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")


def test_a_short_run_shows_nothing(terminal: Terminal, case: Any) -> None:
    with Progress(1, terminal, patience=60) as progress:
        progress.advance(case())
    assert terminal.getvalue() == ""


def test_without_a_terminal_there_is_no_bar(case: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(1, None, patience=0) as progress:
        progress.advance(case())
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")
