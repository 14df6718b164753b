"""`gradcheck snapshot`: write gradients into case files as expectations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gradcheck.cli import options
from gradcheck.cli.config import ConfiguredCommand, current_configuration
from gradcheck.cli.group import USAGE
from gradcheck.cli.output import write_diff, write_stderr, write_stdout
from gradcheck.cli.supervisor import supervise
from gradcheck.cli.write_files import CaseFileText
from gradcheck.errors import GradcheckError
from gradcheck.forks import CRASH
from gradcheck.reports.safe_text import count

if TYPE_CHECKING:
    from gradcheck.checks.gradient_snapshot import Snapshot


@click.command("snapshot", cls=ConfiguredCommand)
@options.paths
@options.selection
@click.option("--update", is_flag=True, help="Of inputs for which the file expects something, too.")
@click.option("--check", is_flag=True, help="Show what would be written; 1 if that is anything.")
@options.TIMEOUT
@options.MEMORY
@options.UNREAD_VERBOSE
def command(paths: tuple[str, ...], keyword: str | None, tags: tuple[str, ...], **further: Any) -> int:
    """Write the gradients of cases into their files, under `expected`.

    A case gets those of its inputs for which it expects nothing yet, if all else that it claims holds. Comments and
    layout stay. Numbers that are too many for a file are left out.
    """
    from gradcheck.checks.gradient_snapshot import snapshots
    from gradcheck.cli.project_options import project_options
    from gradcheck.cli.select import print_errors, select
    from gradcheck.language.case import STDIN

    check, limits = further["check"], {name: further[name] for name in ("timeout", "memory")}
    chosen = replace(project_options(known=current_configuration()), overrides=(), **limits)
    supervise(again=False)
    selection = select(paths, keyword, tags)
    code = print_errors(selection.errors)
    cases = [case for case in selection.cases if case.place.file != STDIN]
    found = snapshots(cases, chosen, anew=further["update"])
    by_file: dict[str, list[Snapshot]] = {}
    for one in found:
        code = max(code, _report_skipped(one))
        by_file.setdefault(one.case.place.file, []).append(one)
    written = 0
    for file, those in by_file.items():
        try:
            written += _write_gradients(Path(file), [one for one in those if one.gradients], check)
        except GradcheckError as error:
            write_stderr(f"gradcheck: {error}")
            code = max(code, USAGE)
    write_stdout(f"{'would write' if check else 'wrote'} what {count(written, 'case')} must come to\n")
    return max(code, int(check and written > 0))


def _report_skipped(one: Snapshot) -> int:
    """Report a case that gets nothing or not all; return the exit code."""
    where = one.case.id
    if one.large:
        write_stderr(f"{where}: the gradient of {', '.join(one.large)} has too many numbers for a file")
    if one.result.is_failing:
        from gradcheck.reports.phrases import say

        limits = [error.message for error in one.result.errors if error.kind in ("timeout", "memory")]
        why = say(limits[0]) if limits else "does not pass; see gradcheck run"
        write_stderr(f"{where}: is left as it is, since it {why}")
        return {"crashed": CRASH, "invalid": USAGE}.get(one.result.status, 1)
    return 0


def _write_gradients(path: Path, those: Sequence[Snapshot], check: bool) -> int:
    file, after, done = with_gradients(path, those)
    if after != file.text:
        write_diff(str(path), file.text, after)
        if not check:
            file.replace(after)
    return done


def with_gradients(path: Path, those: Sequence[Snapshot]) -> tuple[CaseFileText, str, int]:
    """Return a file, its text with gradients of its cases, and how many."""
    from gradcheck.language.case_writer import literal
    from gradcheck.language.loader.expected_writer import insert_expected

    file = CaseFileText.read(path)
    after = file.text
    done = 0
    for one in reversed(those):  # so that the lines of the others stay
        values = {n: "null" if array is None else literal(array) for n, array in one.gradients.items()}
        try:
            changed = insert_expected(after, one.case.place.line, values)
        except ValueError:
            changed = after
        if not _only_adds_gradients(changed, one, path):
            write_stderr(f"{one.case.id}: is left as it is, for want of a place to write to")
            continue
        done += changed != after
        after = changed
    return file, after, done


def _only_adds_gradients(text: str, one: Snapshot, path: Path) -> bool:
    """Return whether the new text adds these gradients and nothing else."""
    from gradcheck.language.case_writer import write
    from gradcheck.language.loader import load_text

    cases, _ = load_text(text, path.as_posix())
    found = next((case for case in cases if case.name == one.case.name), None)
    if found is None or not one.gradients.keys() <= found.expected.keys():
        return False
    return write(replace(found, expected={})) == write(replace(one.case, expected={}))
