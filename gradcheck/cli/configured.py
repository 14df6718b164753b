"""The class of commands whose defaults come from `[tool.gradcheck]`."""

from __future__ import annotations

import click


class ConfiguredCommand(click.Command):
    """A command whose defaults come from the configuration; an option given by hand wins."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The configuration is read first, but for help. Raises UsageError where it is wrong."""
        if not {"-h", "--help"} & set(args):
            from gradcheck.cli.config import read_config

            own = {param.name for param in self.params}
            ctx.default_map = {name: value for name, value in read_config().values.items() if name in own}
        return super().parse_args(ctx, args)
