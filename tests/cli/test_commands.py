"""Every command is a module with its `command`."""

from __future__ import annotations

from importlib import import_module

import click
import pytest

from gradcheck.cli.commands import COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_called_what_its_module_says(name: str) -> None:
    command = import_module(COMMANDS[name]).command
    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.help
