"""`gradcheck list`: the ids of cases, one a line."""

from __future__ import annotations

import click

from gradcheck.cli import options
from gradcheck.cli.configured import ConfiguredCommand


@click.command("list", cls=ConfiguredCommand)
@options.paths
@options.selection
@options.VERBOSE
def command(paths: tuple[str, ...], keyword: str | None, tags: tuple[str, ...], verbose: int) -> int:
    """List the ids of cases, one a line; -v adds their tags."""
    from gradcheck.cli.boundary import USAGE
    from gradcheck.cli.output import write_stderr, write_stdout
    from gradcheck.cli.select import select
    from gradcheck.reports.text import plain

    selection = select(paths, keyword, tags)
    lines = []
    for case in selection.cases:
        labels = f"  [{', '.join(case.tags)}]" if verbose and case.tags else ""
        lines.append(plain(case.id + labels))
    write_stdout("".join(line + "\n" for line in lines))
    for error in selection.errors:
        write_stderr(plain(str(error)))
    return USAGE if selection.errors else 0
