"""`gradcheck review` at a terminal, as a person answers it."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gradcheck.cli.review_command import _Questions
from gradcheck.errors import Place
from gradcheck.language.loader.hint_corrections import Correction

pty = pytest.importorskip("pty", reason="pseudo-terminals are of Unix")

CASES = """\
name: a factor
inputs: {x: "randn(3)"}
graph: {y: (x * x).sum()}
formulas: {x: 3 * x}
---
name: numbers
inputs: {x: [1, 2]}
graph: {y: (x * x).sum()}
expected: {x: [2, 5]}
"""
#: After these the next answer is typed.
PROMPTS = (b"quit: ", b"]: ")


def at_a_terminal(folder: Path, answers: list[str], *words: str) -> tuple[int, str]:
    """Run a command on a terminal, and type an answer at each of its questions."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, "-P", "-m", "gradcheck", *words])
    written, waiting, end = b"", list(answers), time.monotonic() + 120
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                written += os.read(terminal, 4096)
            except OSError:  # the other end is closed
                break
        elif waiting and written.endswith(PROMPTS):  # it waits, so that nothing typed is discarded
            os.write(terminal, waiting.pop(0).encode())
    else:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), written.decode().replace("\r\n", "\n")


def test_each_correction_is_asked_about_and_written(folder: Path) -> None:
    (folder / "c.yaml").write_text(CASES)
    code, shown = at_a_terminal(folder, ["a", "a"], "review", "c.yaml")
    assert "c.yaml:4:15\n- 3 * x\n+ 2 * x\n" in shown
    assert "-expected: {x: [2, 5]}\n+expected: {x: [2, 4]}\n" in shown
    assert (code, shown.splitlines()[-1]) == (0, "2 cases, 0 failed")
    assert (folder / "c.yaml").read_text() == CASES.replace("3 * x", "2 * x").replace("[2, 5]", "[2, 4]")


def test_an_edit_must_hold(folder: Path) -> None:
    (folder / "c.yaml").write_text(CASES)
    code, shown = at_a_terminal(folder, ["e", "4 * x\n", "e", "x + x\n", "s"], "review", "c.yaml")
    assert shown.count("that does not hold, and is not written") == 1
    assert (code, shown.splitlines()[-1]) == (1, "2 cases, 1 failed")
    assert (folder / "c.yaml").read_text() == CASES.replace("3 * x", "x + x")


def test_what_cannot_be_written_is_told_by_the_exit_code(folder: Path) -> None:
    text = CASES.replace("a factor\n", "a factor\r\n")  # its lines end in several ways
    (folder / "c.yaml").write_bytes(text.encode())
    code, shown = at_a_terminal(folder, ["a", "s"], "review", "c.yaml")
    assert (code, "cannot write 'c.yaml'" in shown) == (2, True), shown
    assert (folder / "c.yaml").read_bytes() == text.encode()


def test_nothing_is_asked_after_quit(folder: Path) -> None:
    (folder / "c.yaml").write_text(CASES)
    code, shown = at_a_terminal(folder, ["q"], "review", "c.yaml")
    assert (code, shown.count("quit: "), (folder / "c.yaml").read_text()) == (1, 1, CASES)


def test_without_a_terminal_it_says_what_to_do(cases: Path, gradcheck: Any) -> None:
    outcome = gradcheck("review", "cases")
    assert (outcome.code, "gradcheck run --fix writes all corrections" in outcome.err) == (2, True)


def test_an_answer_holds_for_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked again after other lines were corrected, it is not asked of a person again; elsewhere it is."""
    typed = iter("as")
    monkeypatch.setattr("click.getchar", lambda: next(typed))
    questions = _Questions()
    first = Correction(Place("c.yaml", 4, 15), "3 * x", "2 * x")
    moved = Correction(Place("c.yaml", 4, 17), "3 * x", "2 * x")
    other = Correction(Place("c.yaml", 9, 15), "3 * x", "2 * x")
    assert questions.choose(first, lambda one: True) == first
    assert questions.choose(moved, lambda one: True) == moved
    assert questions.choose(other, lambda one: True) is None


def test_invisible_letters_are_shown_and_asked_about_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tensor may be called `x` with a letter that has no shape."""
    letters, lines = iter("eea"), iter(["x\u115f + x", "2 *\x0c x\u115f"])
    monkeypatch.setattr("click.getchar", lambda: next(letters))
    monkeypatch.setattr(
        "click.termui.visible_prompt_func", lambda prompt: print(prompt, file=sys.stderr) or next(lines)
    )
    suggested = Correction(Place("c.yaml", 4, 15), "3 * x", "2 * x\u115f")
    found = _Questions().choose(suggested, lambda one: True)
    assert found is not None
    assert found.new == "2 *\x0c x\u115f"
    shown = capsys.readouterr().err
    assert not {"\u115f", "\x0c"} & set(shown)
    for line in ("+ [2 * x\\u115f]", "+ x\\u115f + x\n", "+ [x\\u115f + x]", "+ 2 *\\x0c x\\u115f\n"):
        assert line in shown


def test_a_visible_edit_is_not_asked_about_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.getchar", lambda: "e")
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda prompt: "α + α")
    found = _Questions().choose(Correction(Place("c.yaml", 4, 15), "3 * α", "2 * α"), lambda one: True)
    assert found is not None
    assert found.new == "α + α"
