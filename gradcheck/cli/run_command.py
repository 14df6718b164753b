"""`gradcheck run`: check cases, and report."""

from __future__ import annotations

import gc
import itertools
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gradcheck.cache.cache_folder import FOLDER, refusal
from gradcheck.cli import options
from gradcheck.cli.config import ConfiguredCommand, overrides_of
from gradcheck.cli.group import USAGE, guarded
from gradcheck.cli.fast_exit import only_ours
from gradcheck.cli.output import Outputs, is_terminal, keep, write_stderr, write_stdout
from gradcheck.cli.supervisor import OwnProcess, runs_foreign_code, supervise
from gradcheck.engines.libraries import LIBRARIES, libraries_of
from gradcheck.errors import UsageError
from gradcheck.reports import FORMATS
from gradcheck.reports.safe_text import count

if TYPE_CHECKING:
    from gradcheck.cache.cache import Cache
    from gradcheck.checks.baseline import Baseline
    from gradcheck.checks.options import Effort, Override
    from gradcheck.checks.result import CaseResult, RunResult
    from gradcheck.cli.case_selection import Which
    from gradcheck.language.case import Loaded


@click.command("run", cls=ConfiguredCommand)
@options.paths
@options.of_table(options.RUN)
def command(paths: tuple[str, ...], **chosen: Any) -> int:
    """Check every case below the paths.

    PATH is a case file or a folder of them, FILE::NAME a single case. Without any, the paths of [tool.gradcheck] in
    pyproject.toml are taken, else cases/.
    """
    if refused := refusal():
        write_stderr(f"gradcheck: {refused}")
    chosen["overrides"] = _overrides()
    if runs_foreign_code(chosen, *(one.choices for one in chosen["overrides"])):
        if supervise(again=chosen["output_format"] != "json-lines" and not chosen["coverage"]):
            chosen |= {"in_workers": True, "shrink": False}
    elif (chosen["jobs"] or 1) == 1:
        only_ours()
    own = click.get_current_context().find_root().obj
    chosen["cache"] = _cache(chosen, own.code if isinstance(own, OwnProcess) else None)
    if not chosen.pop("watch"):
        return _checked(paths, chosen)
    from gradcheck.cli.select import default_paths
    from gradcheck.cli.watch import watch

    def once(some: tuple[str, ...]) -> int:
        return guarded(click.Command("run", callback=lambda: _checked(some, dict(chosen))), [])

    watch(paths or default_paths(), (*chosen["engines"], chosen["reference"] or ""), once)
    return 0


def _checked(paths: tuple[str, ...], chosen: dict[str, Any]) -> int:
    """Check what is below the paths, and report; the exit code."""
    if chosen.pop("coverage"):
        return _covered(paths, chosen)
    outputs = _outputs(chosen)
    outputs.prepare()
    from gradcheck.cli.last_failed import remember
    from gradcheck.cli.case_selection import Which

    which = Which.of(paths, chosen)
    known, update, fix = chosen.pop("baseline"), chosen.pop("update_baseline"), chosen.pop("fix")
    chosen["baseline"] = _baseline(known, update, chosen["fail_on_drift"])
    chosen["derived"] = outputs.verbosity > 0
    chosen["shrink"] = _effort(chosen["shrink"], outputs)
    if chosen.pop("exitfirst"):
        chosen["maxfail"] = 1
    unset = (None, ())
    given = {name: value for name, value in chosen.items() if value not in unset}
    if update:
        return _updated(which, given, outputs)
    if given.get("jobs", 1) > 1 and chosen["cache"] is None:
        _preload(given)
    selection = which()
    outputs.spare(selection)
    told = outputs.begin() if not fix and "shrink" not in given else None
    result, is_written = _fixed(which, given) if fix else (_run(selection, given, told), True)
    result = _with_files(result)
    remember(result)
    outputs.write(result, told is not None)
    return max(result.exit_code, _gone(which, given, result), 0 if is_written else USAGE)


def _covered(paths: tuple[str, ...], chosen: dict[str, Any]) -> int:
    """The same, in this process and with nothing known from earlier runs; then what the cases came to."""
    from gradcheck.checks.coverage import exercised
    from gradcheck.reports.coverage_lines import exercised_lines

    everything, is_text = chosen["verbose"] > 0, chosen["output_format"] in ("full", "concise") and not chosen["file"]
    with exercised(chosen["engines"]) as found:
        code = _checked(paths, {**chosen, "coverage": False, "jobs": None, "executor": None, "cache": None})
    for line in exercised_lines(found, everything):
        if is_text:
            write_stdout(f"{line}\n")
        else:
            write_stderr(line)
    return code


def _preload(given: dict[str, Any]) -> None:
    """Workers get ready while the files are read."""
    from gradcheck.checks.options import Options
    from gradcheck.checks.scheduling.parallel import preload

    preload(Options(**given))


def _cache(chosen: dict[str, Any], code: str | None) -> Cache | None:
    """Return None where it was not chosen, or nothing may be kept. `code` is the digest of gradcheck's own files."""
    if not chosen["cache"] or code is None:
        return None
    known = (name for name in _asked(chosen) if name in LIBRARIES)  # of whoever else takes part nothing is kept
    libraries = libraries_of(known)
    from gradcheck.cache import signing_key
    from gradcheck.cache.cache import cache_of

    if refused := signing_key.refusal(FOLDER):
        write_stderr(f"gradcheck: {refused}")
    return cache_of(code, libraries)


def _asked(chosen: dict[str, Any]) -> list[str]:
    """The engines and references that are named, those of overrides too."""
    choices = [chosen, *(one.choices for one in chosen["overrides"])]
    return [name for some in choices for name in (*some.get("engines", ()), some.get("reference") or "torch")]


def _overrides() -> tuple[Override, ...]:
    found = tuple(overrides_of(click.get_current_context()))
    if not found:
        return ()
    from gradcheck.checks.options import Override

    return tuple(Override(patterns, choices) for patterns, choices in found)


def _baseline(file: Path | None, update: bool, strict: bool) -> Baseline | None:
    if file is None:
        if update or strict:
            asked = "--update-baseline" if update else "--fail-on-drift"
            raise UsageError(f"{asked} needs to know where", hint="name the file: --baseline FILE")
        return None
    from gradcheck.cli.baseline_file import read_baseline

    return read_baseline(file, update)


def _updated(which: Which, given: dict[str, Any], outputs: Outputs) -> int:
    """The run of which every failure becomes a known one."""
    from gradcheck.cli.baseline_file import updated
    from gradcheck.language.case import STDIN

    known = given["baseline"]
    selection = which()
    outputs.spare(selection)
    for error in selection.errors:
        if error.place.file != STDIN and not os.path.lexists(error.place.file):
            raise error  # a path that is not there is a mistake, and no failure to put up with
    result = _run(selection, {**given, "baseline": replace(known, claims={}, agreement={}), "shrink": None})
    try:
        result = updated(known, result, _is_whole(which, given, result))
    finally:  # where the baseline cannot be written, the report is there all the same
        outputs.write(result)
    return result.exit_code


def _is_whole(which: Which, given: dict[str, Any], result: RunResult) -> bool:
    """Whether of every file that was read all cases ran."""
    return which.takes_files_whole and not result.interrupted and "maxfail" not in given


def _gone(which: Which, given: dict[str, Any], result: RunResult) -> int:
    """1 where the baseline has cases that are no more, as far as that can be told."""
    if "baseline" not in given or not _is_whole(which, given, result):
        return 0
    from gradcheck.cli.baseline_file import tell_gone

    return tell_gone(given["baseline"], result)


def _fixed(which: Which, given: dict[str, Any]) -> tuple[RunResult, bool]:
    """Write verified corrections, and check again; return also whether all files could be written."""
    from gradcheck.cli.fix import fixed, refuse_without_files

    refuse_without_files(which.paths)
    return fixed(_run(which(), given), which, lambda some: _run(some, given))


def _outputs(chosen: dict[str, Any]) -> Outputs:
    """Takes from what was chosen all that is about writing."""
    file = chosen.pop("file")
    if file is not None and str(file) in FORMATS:
        raise UsageError(f"'{file}' is a format, and --output takes a file", hint=f"write --output-format {file}")
    return Outputs(
        format=chosen.pop("output_format"),
        file=None if file == Path("-") else file,
        reports=chosen.pop("reports"),
        color=chosen.pop("color"),
        durations=chosen.pop("durations"),
        verbosity=min(1, chosen.pop("verbose")) - min(1, chosen.pop("quiet")),
    )


def _effort(asked: bool | None, outputs: Outputs) -> Effort | None:
    """Unasked only for people, who read a report in full."""
    from gradcheck.checks.options import QUICK, THOROUGH

    if asked is None:
        return QUICK if outputs.format == "full" and outputs.verbosity >= 0 else None
    return THOROUGH if asked else None


def _run(selection: Loaded, given: dict[str, Any], told: Callable[[CaseResult], None] | None = None) -> RunResult:
    """The checks, with a bar meanwhile; what was not given is the run's to choose. Each result is `told` at once."""
    from gradcheck.checks.options import Options
    from gradcheck.checks.scheduling.run import run
    from gradcheck.reports.commands.progress import Progress

    results, is_own = itertools.count(), click.get_current_context().find_root().obj is not None
    if is_own:
        gc.freeze()  # what is loaded stays, and need not be searched for cycles
    total = len(selection.cases) + len({error.place.file for error in selection.errors})
    with Progress(total, sys.stderr if is_terminal(sys.stderr) else None) as progress:

        def done(case: CaseResult, of: int) -> None:
            if is_own and next(results) == 0:
                gc.freeze()
            progress.advance(case)
            if told is not None:
                told(case)

        result = run(selection, Options(**given), on_result=done)
    rest = total - len(result.cases)
    if rest and not result.interrupted:
        write_stderr(f"stopped early: {count(rest, 'case')} not run")
    return result


def _with_files(result: RunResult) -> RunResult:
    """The smallest reproductions, each in a file of its own."""
    cases = tuple(
        replace(case, smallest=replace(case.smallest, file=keep(case.id, case.smallest.case)))
        if case.smallest
        else case
        for case in result.cases
    )
    return replace(result, cases=cases)
