"""`gradcheck explain`: a case's graph, its values, and every gradient as a formula."""

from __future__ import annotations

import click

from gradcheck.cli import options
from gradcheck.cli.config import ConfiguredCommand


@click.command("explain", cls=ConfiguredCommand)
@options.paths
@options.selection
@click.option(
    "--format",
    "format",
    type=click.Choice(["text", "yaml", "latex"]),
    default="text",
    show_default=True,
    help="For reading, for pasting into a case, for a paper.",
)
@click.option("--expand", is_flag=True, help="Closed formulas, without the gradients of intermediates.")
@options.SEED
@options.UNREAD_VERBOSE
def command(
    paths: tuple[str, ...], keyword: str | None, tags: tuple[str, ...], format: str, expand: bool, seed: int | None
) -> int:
    """Explain cases: the graph, its values, and each gradient as a formula in the case language.

    Formulas are derived from the gradient rules of the graph's ops and simplified; each is read back from its text
    and verified before it is shown. PATH is a case file or a folder of them, FILE::NAME a single case.
    """
    from gradcheck.checks.derivation import explain
    from gradcheck.cli.output import width, write_stdout
    from gradcheck.cli.select import select
    from gradcheck.reports.commands.explain import render

    selection = select(paths, keyword, tags)
    for number, case in enumerate(selection.cases):
        text = render(explain(case, seed, expand=expand), format, width())
        write_stdout(("\n" if number else "") + text)
    return selection.tell_errors()
