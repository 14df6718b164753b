"""`gradcheck ops` and `gradcheck schema`: what a case may say."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from gradcheck.cli import options
from gradcheck.cli.output import is_terminal, width, write_stdout
from gradcheck.errors import UsageError
from gradcheck.language.suggest import did_you_mean

if TYPE_CHECKING:
    from gradcheck.autograd.op import Op


@click.command("ops")
@click.argument("name", required=False)
@options.UNREAD_VERBOSE
def ops(name: str | None) -> None:
    """Show the op table, or everything about one op."""
    from gradcheck.reports.commands.ops import detail, table

    lines = detail(_find(name)) if name else table(width() if is_terminal(sys.stdout) else None)
    write_stdout("\n".join(lines) + "\n")


def _find(name: str) -> Op:
    """By its name or an alias, spelled as in a case: `torch.nn.functional.relu`, `F.relu` and `relu` are one."""
    import gradcheck.autograd.ops  # noqa: F401 (it fills the table)
    from gradcheck.autograd.op import ALIASES, TABLE, lookup

    short = name
    for prefix in ("torch.", "nn.functional.", "F.", "Tensor."):
        short = short.removeprefix(prefix)
    found = lookup(name) or lookup(short)
    if found is None:
        hint = did_you_mean(short, (*TABLE, *ALIASES), "gradcheck ops lists them all")
        raise UsageError(f"there is no op '{name}'", hint=hint)
    return found


@click.command("schema")
@click.option("--report", "of_report", is_flag=True, help="Of the JSON report instead.")
@options.UNREAD_VERBOSE
def print_schema(of_report: bool) -> None:
    """Print the JSON Schema (draft-07) of a case, for editors."""
    import json

    if of_report:
        from gradcheck.reports.report_schema import report_schema as schema
    else:
        from gradcheck.language.loader.model import schema
    write_stdout(json.dumps(schema(), indent=2) + "\n")
