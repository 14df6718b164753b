"""Every command is found by its name; a person's mistake is a line and exit code 2, a bug is exit code 3 and a plea."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
import pytest

from gradcheck import __version__
from gradcheck.cli.group import COMMANDS, LazyGroup, NothingToDo, run_command
from gradcheck.errors import InvalidCase, Place, UsageError


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_called_what_the_table_says(name: str) -> None:
    command = LazyGroup().get_command(click.Context(LazyGroup()), name)
    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.help


WITHOUT_FILES = (("--version",), ("--help",), ("run", "-h"), ("schema",), ("schema", "--report"), ("ops", "tanh"))
WITH_FILES = (
    *[("run",), ("run", "a.yaml"), ("run", "-"), ("validate",), ("validate", "a.yaml", "b.yaml"), ("list",)],
    *[("explain", "a.yaml"), ("trace", "a.yaml"), ("graph", "a.yaml"), ("conform", "core"), ("snapshot",)],
    *[("init",), ("init", "a.yaml"), ("config",)],
)


@pytest.mark.parametrize("arguments", [*WITHOUT_FILES, *WITH_FILES])
def test_a_working_directory_that_is_gone_is_no_crash(
    folder: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    (folder / "gone").mkdir()
    monkeypatch.chdir(folder / "gone")
    (folder / "gone").rmdir()
    outcome = gradcheck(*arguments)
    assert outcome.code == (0 if arguments in WITHOUT_FILES else 2), outcome.err
    if arguments in WITH_FILES:
        assert outcome.err.count("\n") == 1
        assert "no such file" in outcome.err.lower()


def test_an_error_of_the_system_is_a_crash_where_the_working_directory_is_there(folder: Path) -> None:
    def fails() -> None:
        raise FileNotFoundError(2, "No such file or directory")

    assert run_command(click.Command("x", callback=fails), []) == 3


def test_without_arguments_the_help_is_shown(gradcheck: Any) -> None:
    outcome = gradcheck()
    assert (outcome.code, outcome.out) == (2, "")
    lines = outcome.err.splitlines()
    assert lines[0].startswith("Usage: gradcheck")
    assert len(lines) > len(COMMANDS)
    assert any("gradcheck init" in line for line in lines)


@pytest.mark.parametrize("arguments", [(), *((name,) for name in COMMANDS)])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_every_command_has_help(gradcheck: Any, arguments: tuple[str, ...], option: str) -> None:
    outcome = gradcheck(*arguments, option)
    assert outcome.code == 0
    assert outcome.out.startswith("Usage: gradcheck")


def test_version(gradcheck: Any) -> None:
    assert gradcheck("--version").out == f"gradcheck {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("validat",), "did you mean 'validate'?"),
        (("frobnicate",), "the commands are run, validate, list, "),
        (("run", "--enigne", "core"), "no such option '--enigne'; did you mean '--engine'?\n"),
        (("run", "--dtype", "float65"), "'float65' is not one of"),
        (("run", "--report", "json"), "'json' is not FORMAT=PATH"),
        (("run", "--report", "yaml=x"), "'yaml' is not a format; there are full, concise, json, json-lines, junit"),
        (("run", "--report", "json=a", "-o", "a"), "two reports would go to the same file"),
        (("run", "--parallel", "2"), "no such option '--parallel'"),
        (("run", "--orcale", "none"), "did you mean '--oracle'?\n"),
        (("run", "--format", "json"), "did you mean '--output-format'?\n"),
        (("run", "--output", "json"), "write --output-format json"),
        (("check", "cases"), "did you mean 'run'?"),
        (("help",), "did you mean '--help'?"),
        (("fix", "cases"), "did you mean 'run --fix'?"),
        (("watch",), "did you mean 'run --watch'?"),
        (("list", "cases/good"), "did you mean 'cases/good.yaml'?"),
        (("list", "cases/good.yaml:3:1"), "did you mean 'cases/good.yaml'?"),
        (("list", "cases/good.yaml:squares"), "write cases/good.yaml::squares"),
        (("list", "-k", "a b"), "cannot understand -k 'a b'"),
        (("ops", "rellu"), "there is no op 'rellu'; did you mean 'relu'?"),
        (("list", "casse"), "casse: there is no such file or folder; did you mean 'cases'?"),
    ],
)
def test_a_mistake_is_exit_code_2_and_a_line(
    cases: Path, gradcheck: Any, arguments: tuple[str, ...], message: str
) -> None:
    outcome = gradcheck(*arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    "names",
    [("--engine=evil.py:X.yaml",), ("--allow-code", "a.yaml"), ("--engine", "evil.py:X"), ("-oa.yaml",), ("--",)],
)
def test_the_name_of_a_file_is_no_option(folder: Path, gradcheck: Any, names: tuple[str, ...]) -> None:
    """A shell writes `*` out: `gradcheck run *` must not import what a file's name tells it to."""
    (folder / "evil.py").write_text("open('ran', 'w')\n")
    for name in names:
        (folder / name).write_text("inputs: {x: 1}\ngraph: {y: x * x}\n")
    for before in ["run"], ["--"]:
        outcome = gradcheck(*before, *sorted(os.listdir()))
        assert (outcome.code, f"'{names[0]}' is an option, and a file here" in outcome.err) == (2, True)


def test_the_name_of_a_file_is_no_command(folder: Path, gradcheck: Any) -> None:
    """`gradcheck *` must not be `gradcheck conform evil.py`, which imports the file."""
    (folder / "conform").touch()
    (folder / "evil.py").write_text("open('ran', 'w')\n")
    outcome = gradcheck(*sorted(os.listdir()))
    assert (outcome.code, "'conform' is a command, and a file here" in outcome.err) == (2, True)
    (folder / "--").touch()
    assert gradcheck(*sorted(os.listdir())).code == 2
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("options", [(), ("-v",), ("--isolated",), ("--timeout", "9")])
@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_nor_with_an_option_beside_it_nor_the_name_of_a_folder(
    folder: Path, gradcheck: Any, kind: str, options: tuple[str, ...]
) -> None:
    """`gradcheck * -v`, and `gradcheck conform conform:X`, which imports the folder."""
    if kind == "file":
        (folder / "conform").touch()
        (folder / "evil.py").write_text("open('ran', 'w')\n")
    else:
        (code := folder / (".hidden" if kind == "link" else "conform")).mkdir()
        (code / "__init__.py").write_text("open('ran', 'w')\n")
        (folder / "conform:X").touch()
    if kind == "link":
        (folder / "conform").symlink_to(".hidden")
    outcome = gradcheck(*sorted(set(os.listdir()) - {".hidden"}), *options)
    assert (outcome.code, "'conform' is a command, and a file here" in outcome.err) == (2, True)
    assert not (folder / "ran").exists()


def test_a_folder_may_have_the_name_of_a_command(cases: Path, folder: Path, gradcheck: Any) -> None:
    assert cases.parent == folder
    (folder / "run").mkdir()
    assert gradcheck("run", "cases", "-q").code == 0
    (folder / "list").mkdir()
    assert gradcheck("list", "cases").code == 0


@pytest.mark.parametrize("path", ["cases/good.yaml", "cases", "cases/good.yaml::squares"])
def test_a_path_where_a_command_belongs_is_run(cases: Path, gradcheck: Any, path: str) -> None:
    outcome = gradcheck(path, "-q")
    assert outcome.code == 0
    assert " passed in " in outcome.out


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
    assert run_command(command_that(error), []) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(message)
    assert "Traceback" not in err


def test_a_bug_asks_to_be_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(command_that(ZeroDivisionError("so\nthere")), []) == 3
    err = capsys.readouterr().err
    assert "crashed, which is its own fault: ZeroDivisionError: so there\n" in err
    assert "Please report it" in err
    assert "Traceback" not in err


def test_no_error_commands_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    errors = (ZeroDivisionError, UsageError, NothingToDo, MemoryError, click.UsageError, click.FileError)
    for kind in errors:
        run_command(command_that(kind("a\x1b]0;title\x07\u202eb")), ["-v"])
        err = capsys.readouterr().err
        assert "a\\x1b]0;title\\x07\\u202eb" in err
        assert all(line.isprintable() for line in err.split("\n"))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("words", [("--\x1b[2Jx",), ("\x1b[2J\n::error::y",), ("\x1b[2J\n::error::y", "z", "z")])
def test_no_word_of_the_command_line_commands_the_terminal(
    gradcheck: Any, command: str, words: tuple[str, ...]
) -> None:
    outcome = gradcheck(command, *words)
    assert all(line.isprintable() for line in (outcome.out + outcome.err).split("\n"))
    assert "\n::error" not in outcome.out + outcome.err


@pytest.mark.parametrize("option", ["-v", "-vv", "--verbose"])
def test_verbose_shows_the_traceback_of_a_bug(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(command_that(ZeroDivisionError("so")), [option]) == 3
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize(("value", "code"), [(None, 0), (0, 0), (1, 1), (5, 5)])
def test_a_commands_own_code_is_kept(value: object, code: int) -> None:
    assert run_command(command_that(code=value), []) == code


def test_memory_and_recursion_errors_are_crashes_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(command_that(MemoryError()), []) == 3
    assert run_command(command_that(RecursionError("deep")), []) == 3
