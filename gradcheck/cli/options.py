"""Options that several commands share, and the class of commands that read `[tool.gradcheck]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])
DEFAULT_PATHS = ("cases",)


class ConfiguredCommand(click.Command):
    """A command whose defaults come from the configuration; an option given by hand wins."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not {"-h", "--help"} & set(args):
            from gradcheck.cli.config import read_config
            from gradcheck.cli.run import command

            own = {param.name for param in self.params}
            values = read_config(command).values
            ctx.default_map = {name: value for name, value in values.items() if name in own}
        return super().parse_args(ctx, args)


def paths(function: Function) -> Function:
    """Files, folders and single cases."""
    return click.argument("paths", nargs=-1, metavar="[PATH | FILE::NAME]...")(function)


def selection(function: Function) -> Function:
    """`-k` and `-t`."""
    keyword = click.option(
        "-k", "keyword", metavar="EXPR", help="Only cases whose id has these words, as in 'mlp and not deep'."
    )
    tag = click.option(
        "-t", "--tag", "tags", multiple=True, metavar="TAG", help="Only cases with this tag; several add up."
    )
    return keyword(tag(function))


def verbose(function: Function) -> Function:
    """`-v`, with which an internal error shows its traceback."""
    return click.option("-v", "--verbose", count=True, help="Show more.")(function)
