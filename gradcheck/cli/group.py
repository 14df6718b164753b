"""The command `gradcheck` itself: finds the others by their names and imports only the one that is called for."""

from __future__ import annotations

from importlib import import_module

import click

from gradcheck import __version__
from gradcheck.language.suggest import did_you_mean

#: Every command, and where it stands; a module is imported when its command is called for.
COMMANDS: dict[str, str] = {
    "run": "gradcheck.cli.run:command",
    "validate": "gradcheck.cli.read:validate",
    "list": "gradcheck.cli.read:list_ids",
    "explain": "gradcheck.cli.explain:command",
    "trace": "gradcheck.cli.trace:command",
    "conform": "gradcheck.cli.conform:command",
    "ops": "gradcheck.cli.vocabulary:ops",
    "schema": "gradcheck.cli.vocabulary:print_schema",
}
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class LazyGroup(click.Group):
    """A group whose commands are those of `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
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
