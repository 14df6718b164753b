"""The command `gradcheck` itself: finds the others by their names and imports only the one that is called for."""

from __future__ import annotations

from importlib import import_module

import click

from gradcheck import __version__
from gradcheck.cli.commands import COMMANDS
from gradcheck.language.suggest import did_you_mean

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class LazyGroup(click.Group):
    """A group whose commands are those of `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            hint = did_you_mean(name, COMMANDS, f"the commands are {', '.join(COMMANDS)}")
            raise click.UsageError(f"unknown command '{name}'; {hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings=SETTINGS, no_args_is_help=True)
@click.version_option(__version__, prog_name="gradcheck", message="%(prog)s %(version)s")
def gradcheck() -> None:
    """Proves gradients right, or says exactly why they are wrong.

    Start with `gradcheck run cases/`.
    """
