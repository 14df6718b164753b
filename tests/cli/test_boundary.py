"""A person's mistake is a line and exit code 2, a bug is exit code 3 and a plea, and neither is a traceback."""

from __future__ import annotations

import click
import pytest

from gradcheck.cli.boundary import NothingToDo, guarded
from gradcheck.errors import InvalidCase, Place, UsageError


def command_that(error: BaseException | None = None, code: object = None) -> click.Command:
    @click.command()
    @click.option("-v", "--verbose", count=True)
    def command(verbose: int) -> object:
        if error is not None:
            raise error
        return code

    return command


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UsageError("no", hint="try yes"), 2, "gradcheck: no; try yes\n"),
        (InvalidCase("no", place=Place("a.yaml", 1, 2)), 2, "gradcheck: a.yaml:1:2: no\n"),
        (NothingToDo("nothing"), 5, "gradcheck: nothing\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (click.Abort(), 130, "interrupted\n"),
        (click.UsageError("bad"), 2, "Error: bad\n"),
    ],
)
def test_expected_errors(error: BaseException, code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(command_that(error), []) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(message)
    assert "Traceback" not in err


def test_a_bug_asks_to_be_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(command_that(ZeroDivisionError("so\nthere")), []) == 3
    err = capsys.readouterr().err
    assert "crashed, which is its own fault: ZeroDivisionError: so there\n" in err
    assert "Please report it" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("option", ["-v", "-vv", "--verbose"])
def test_verbose_shows_the_traceback_of_a_bug(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(command_that(ZeroDivisionError("so")), [option]) == 3
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize(("value", "code"), [(None, 0), (0, 0), (1, 1), (5, 5)])
def test_a_commands_own_code_is_kept(value: object, code: int) -> None:
    assert guarded(command_that(code=value), []) == code


def test_memory_and_recursion_errors_are_crashes_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(command_that(MemoryError()), []) == 3
    assert guarded(command_that(RecursionError("deep")), []) == 3
