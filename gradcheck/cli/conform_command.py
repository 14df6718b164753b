"""`gradcheck conform`: cases, ops and properties that hold for an engine."""

from __future__ import annotations

import os
from typing import Any

import click

from gradcheck.cli import options
from gradcheck.cli.config import ConfiguredCommand, current_configuration
from gradcheck.cli.group import EMPTY, USAGE
from gradcheck.cli.output import is_terminal, stdout, terminal_width, write_stderr, write_stdout
from gradcheck.cli.supervisor import supervise
from gradcheck.errors import UsageError
from gradcheck.reports import Look


@click.command("conform", cls=ConfiguredCommand)
@click.argument("engine", metavar="ENGINE", shell_complete=options.complete_engine)
@options.paths
@click.option("--op", "ops", multiple=True, metavar="NAME", help="Only this op; repeatable. [default: all]")
@options.TIMEOUT
@click.option("--dtype", type=click.Choice(options.DTYPES), help="Ask for cases and ops in this dtype.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.option("--markdown", is_flag=True, help="Write a table for a README.")
@options.VERBOSE
def command(engine: str, paths: tuple[str, ...], ops: tuple[str, ...], timeout: float | None, **how: Any) -> int:
    """Show which cases, ops and properties hold for an engine.

    ENGINE is a name, FILE.py:CLASS or PACKAGE.MODULE:CLASS: any Tensor class in the usual style will do. Cases are
    those below the paths, by default cases/ where there is such a folder.
    """
    _refuse_shell_pattern(engine)
    supervise(again=False)
    as_json, markdown, verbose = how["as_json"], how["markdown"], how["verbose"]
    from gradcheck.checks.conformance.engine_conformance import conform
    from gradcheck.cli.select import print_errors
    from gradcheck.engines.library_imports import importing_elsewhere
    from gradcheck.engines.resolve import resolve_engine as engine_of
    from gradcheck.language.loader import load
    from gradcheck.reports.commands import conformance_report as report
    from gradcheck.reports.located_messages import failure_messages
    from gradcheck.reports.safe_text import count

    chosen = engine_of(current_configuration().trusted("engines", engine, is_of_settings=False))
    places = list(paths or filter(os.path.exists, options.DEFAULT_PATHS))
    cases = load(places) if places else None
    unread = 0 if cases is None else print_errors(cases.errors)
    beside = engine_of("core"), engine_of("torch")
    with importing_elsewhere():  # an engine may import libraries late
        found = conform(chosen, cases, ops=ops, timeout=timeout, dtype=how["dtype"], beside=beside)
    look = Look(width=terminal_width() if is_terminal(stdout()) else 100, verbosity=min(1, verbose))
    if as_json:
        write_stdout(report.as_json(found), is_data=True)
    elif markdown:
        write_stdout(report.as_markdown(found))
    else:
        write_stdout(report.render(found, look))
    results = () if found.cases is None else found.cases.cases
    invalid = [case for case in results if case.status == "invalid" and case.case is not None]
    lines = [f"{one.location}: {one.message}" for case in invalid for one in failure_messages(case)]
    named = 0 if cases is None else sum(bool(case.implementations) for case in cases.cases)
    write_stderr(*lines, *([f"gradcheck: left out {count(named, 'case')} about code of its own"] if named else []))
    no_case = bool(paths) and not results
    if no_case:
        write_stderr(f"gradcheck: no case about an engine was found in {', '.join(paths)}")
    return max(unread, USAGE if invalid else 0, EMPTY if found.checked_nothing or no_case else 0 if found.holds else 1)


def _refuse_shell_pattern(engine: str) -> None:
    """Raise UsageError for a file that a shell may have put in place of `*`."""
    if os.path.lexists(engine):
        raise UsageError(f"'{engine}' is a file here, not an engine", hint="name a class: FILE.py:CLASS")
