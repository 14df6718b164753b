"""Every command is found by its name; help, versions, and mistakes in a name or in options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from gradcheck import __version__
from gradcheck.cli.group import COMMANDS, LazyGroup


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_called_what_the_table_says(name: str) -> None:
    command = LazyGroup().get_command(click.Context(LazyGroup()), name)
    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.help


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
        (("run", "--enigne", "core"), "Did you mean '--engine'?"),
        (("run", "--dtype", "float65"), "'float65' is not one of"),
        (("run", "--report", "json"), "'json' is not FORMAT=PATH"),
        (("run", "--report", "yaml=x"), "'yaml' is not a format; there are full, concise, json, junit, github"),
        (("run", "--report", "json=a", "-o", "a"), "two reports would go to the same file"),
        (("run", "--jobs", "2"), "No such option"),
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
