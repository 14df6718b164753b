"""`gradcheck validate`: read and check case files without running anything."""

from __future__ import annotations

import click

from gradcheck.cli import options
from gradcheck.cli.configured import ConfiguredCommand


@click.command("validate", cls=ConfiguredCommand)
@options.paths
@options.VERBOSE
def command(paths: tuple[str, ...], verbose: int) -> int:
    """Read and validate case files without running them."""
    from gradcheck.cli.boundary import USAGE
    from gradcheck.cli.output import write_stdout
    from gradcheck.cli.select import select
    from gradcheck.reports.text import count, plain

    selection = select(paths)
    lines = [plain(str(error)) for error in selection.errors]
    if verbose:
        lines += [f"{plain(case.id)}: valid" for case in selection.cases]
    valid = f"{count(len(selection.cases), 'valid case')}"
    if selection.errors:
        files = len({error.place.file for error in selection.errors})
        lines.append(f"{count(len(selection.errors), 'error')} in {count(files, 'file')}, {valid}")
    else:
        lines.append(valid)
    write_stdout("\n".join(lines) + "\n")
    return USAGE if selection.errors else 0
