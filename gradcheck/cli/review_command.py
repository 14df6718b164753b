"""`gradcheck review`: accept, edit or skip corrections one by one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gradcheck.cli import options
from gradcheck.cli.config import ConfiguredCommand, current_configuration
from gradcheck.cli.group import USAGE
from gradcheck.cli.output import is_terminal, write_diff, write_stderr, write_stdout
from gradcheck.cli.supervisor import supervise
from gradcheck.errors import GradcheckError, UsageError
from gradcheck.reports.safe_text import count, plain

if TYPE_CHECKING:
    from gradcheck.checks.options import Options
    from gradcheck.checks.result import RunResult
    from gradcheck.language.case import Loaded
    from gradcheck.language.loader.hint_corrections import Correction


@click.command("review", cls=ConfiguredCommand)
@options.paths
@options.selection
@options.UNREAD_VERBOSE
def command(paths: tuple[str, ...], keyword: str | None, tags: tuple[str, ...]) -> int:
    """Go through corrections and stated gradients, and ask about each.

    What `gradcheck run --fix` would write is shown one by one: accept it, edit it, or skip it. So are numbers under
    `expected` that a case no longer comes to, as `gradcheck snapshot --update` would write them. Exits as `gradcheck
    run` does afterwards.
    """
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        hint = "gradcheck run --fix writes all corrections, gradcheck snapshot --update all gradients"
        raise UsageError("review asks at a terminal, and there is none", hint=hint)
    from gradcheck.checks.scheduling.run import run
    from gradcheck.cli.fix import apply_corrections, reject_standard_input
    from gradcheck.cli.project_options import project_options
    from gradcheck.cli.select import select

    reject_standard_input(paths)
    chosen = project_options(known=current_configuration())
    supervise(again=False)

    def selected() -> Loaded:
        return select(paths, keyword, tags)

    def checked(some: Loaded) -> RunResult:
        return run(some, chosen)

    questions = _Questions()
    result, is_written = apply_corrections(checked(selected()), checked, questions.choose)
    if _review_gradients(result, chosen, questions):
        result = checked(selected())
    write_stdout(f"{count(len(result.cases), 'case')}, {count(result.count('failed'), 'failed', 'failed')}\n")
    return max(result.exit_code, 0 if is_written else USAGE)


class _Questions:
    """The questions of a review; each is asked once, and none after `quit`."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, int, str, str], Correction | None] = {}
        self.is_over = False

    def choose(self, one: Correction, holds: Callable[[Correction], bool]) -> Correction | None:
        """Return a correction as accepted or edited; None to skip it."""
        key = one.place.file, one.place.line, one.old, one.new
        if key not in self.answers and not self.is_over:
            self.answers[key] = self._choose(one, holds)
        known = self.answers.get(key)
        return known and replace(known, place=one.place)

    def _choose(self, one: Correction, holds: Callable[[Correction], bool]) -> Correction | None:
        write_stderr(f"{one.place}", f"- {plain(one.old)}", f"+ {plain(one.new)}")
        while (answer := self.answer("aesq")) == "e":
            shown = plain(one.new)
            edited = replace(one, new=click.prompt(f"+ [{shown}]", default=one.new, show_default=False, err=True))
            if not (one.error or holds(edited)):
                write_stderr("that does not hold, and is not written")
            elif edited.new in (one.new, plain(edited.new)):
                return edited
            else:  # it may not be what its author sees
                one = edited
                write_stderr(f"+ {plain(one.new)}")
        return one if answer == "a" else None

    def answer(self, letters: str) -> str:
        """Return the letter that is typed; `q` ends the review."""
        names = {"a": "accept", "e": "edit", "s": "skip", "q": "quit"}
        click.echo(f"{', '.join(f'[{letter}] {names[letter]}' for letter in letters)}: ", nl=False, err=True)
        while (typed := click.getchar().lower()) not in letters:
            if typed in ("", "\x04", "\x1b"):
                typed = "q"
                break
        write_stderr(names[typed])
        self.is_over = typed == "q"
        return typed


def _review_gradients(result: RunResult, chosen: Options, questions: _Questions) -> bool:
    """Ask about stated gradients that are not reached; return if any changes."""
    from gradcheck.checks.gradient_snapshot import snapshots
    from gradcheck.cli.snapshot_command import with_gradients
    from gradcheck.language.claim_kind import ClaimKind

    stale = [
        case.case
        for case in result.cases
        if case.case is not None
        and any(c.what is ClaimKind.EXPECTED and c.status == "failed" for c in case.comparisons)
    ]
    written = 0
    for found in reversed(snapshots(stale, replace(chosen, overrides=()), anew=True)) if stale else ():
        path = Path(found.case.place.file)
        stated = {name: array for name, array in found.gradients.items() if name in found.case.expected}
        if not stated or questions.is_over:
            continue
        try:
            file, after, _ = with_gradients(path, [replace(found, gradients=stated)])
            if after != file.text:
                write_diff(str(path), file.text, after)
                if questions.answer("asq") == "a":
                    file.replace(after)
                    written += 1
        except GradcheckError as error:
            write_stderr(f"gradcheck: {error}")
    return bool(written)
