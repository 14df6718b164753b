"""`gradcheck validate` and `gradcheck list`: read case files, run nothing."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import PurePath

import click

from gradcheck.cli import options
from gradcheck.cli.config import ConfiguredCommand
from gradcheck.cli.group import code_of
from gradcheck.cli.output import write_stdout
from gradcheck.errors import InvalidCase, Place
from gradcheck.reports.safe_text import count, plain


@click.command("validate", cls=ConfiguredCommand)
@options.paths
@options.VERBOSE
def validate(paths: tuple[str, ...], verbose: int) -> int:
    """Read and validate case files without running them."""
    from gradcheck.cli.select import select
    from gradcheck.language.value_precheck import find_value_errors

    selection = select(paths)
    refused = {case.id: find_value_errors(case) for case in selection.cases if case.skip is None}
    errors = sorted([*selection.errors, *chain.from_iterable(refused.values())], key=_position)
    cases = [case for case in selection.cases if not refused.get(case.id)]
    lines = [plain(str(error)) for error in errors]
    if verbose:
        lines += [f"{plain(case.id)}: valid" for case in cases]
    valid = f"{count(len(cases), 'valid case')}"
    if errors:
        files = len({error.place.file for error in errors})
        valid = f"{count(len(errors), 'error')} in {count(files, 'file')}, {valid}"
    write_stdout("\n".join([*lines, valid]) + "\n")
    return code_of(errors)


def _position(error: InvalidCase) -> tuple[tuple[str, ...], Place]:
    return PurePath(error.place.file).parts, error.place


@click.command("list", cls=ConfiguredCommand)
@options.paths
@options.selection
@click.option("-0", "--null", is_flag=True, help="End each id by a NUL character, for xargs -0; escape nothing.")
@options.VERBOSE
def list_ids(paths: tuple[str, ...], keyword: str | None, tags: tuple[str, ...], null: bool, verbose: int) -> int:
    """List the ids of cases, one a line; -v adds their tags."""
    from gradcheck.cli.select import print_errors, select

    selection = select(paths, keyword, tags)
    labels = [f"  [{', '.join(case.tags)}]" if verbose and case.tags and not null else "" for case in selection.cases]
    shown = [case.id + label for case, label in zip(selection.cases, labels, strict=True)]
    # a file's name may be no text: escaped, it would be that of another file
    write_stdout(
        os.fsencode("".join(f"{one}\0" for one in shown)) if null else "".join(f"{plain(one)}\n" for one in shown)
    )
    return print_errors(selection.errors)
