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
from click.core import ParameterSource

from gradcheck.cache.cache_folder import FOLDER, folder_warning
from gradcheck.cli import options
from gradcheck.cli.config import ConfiguredCommand, current_configuration, overrides_of
from gradcheck.cli.fast_exit import allow_immediate_exit
from gradcheck.cli.group import USAGE, run_command
from gradcheck.cli.output import Outputs, is_terminal, write_smallest_case, write_stderr, write_stdout
from gradcheck.cli.supervisor import CommandProcess, runs_foreign_code, supervise
from gradcheck.engines.registry import ENGINES, libraries_of
from gradcheck.errors import UsageError
from gradcheck.reports import FORMATS
from gradcheck.reports.safe_text import count

if TYPE_CHECKING:
    from gradcheck.cache.cache import Cache
    from gradcheck.checks.baseline import Baseline
    from gradcheck.checks.options import Override, ShrinkEffort
    from gradcheck.checks.result import CaseResult, RunResult
    from gradcheck.cli.case_selection import CaseSelection
    from gradcheck.language.case import Loaded


@click.command("run", cls=ConfiguredCommand)
@options.paths
@options.apply_options(options.RUN)
def command(paths: tuple[str, ...], **chosen: Any) -> int:
    """Check every case below the paths.

    PATH is a case file or a folder of them, FILE::NAME a single case. Without any, the paths of [tool.gradcheck] in
    pyproject.toml are taken, else cases/.
    """
    if refused := folder_warning():
        write_stderr(f"gradcheck: {refused}")
    _trust_installed_packages(chosen)
    chosen["overrides"] = _overrides()
    if supervise(again=_may_run_again(paths, chosen)):
        chosen |= {"in_workers": True, "shrink": False}
    elif (chosen["jobs"] or 1) == 1 and not runs_foreign_code(chosen, *(one.choices for one in chosen["overrides"])):
        allow_immediate_exit()
    own = click.get_current_context().find_root().obj
    chosen["cache"] = _cache(chosen, own.package_digest if isinstance(own, CommandProcess) else None)
    if not chosen.pop("watch"):
        return _check_paths(paths, chosen)
    from gradcheck.cli.select import default_paths
    from gradcheck.cli.watch import code_folders, watch

    def once(some: tuple[str, ...]) -> int:
        return run_command(click.Command("run", callback=lambda: _check_paths(some, dict(chosen))), [])

    paths = paths or default_paths()
    watch(paths, tuple(code_folders(paths, [chosen, *(one.choices for one in chosen["overrides"])])), once)
    return 0


def _may_run_again(paths: tuple[str, ...], chosen: dict[str, Any]) -> bool:
    """Return whether nothing is written or read that cannot be repeated."""
    from gradcheck.language.case import STDIN

    return chosen["output_format"] != "json-lines" and not chosen["coverage"] and STDIN not in paths


def _trust_installed_packages(chosen: dict[str, Any]) -> None:
    """Mark code that the environment names, or that an isolated run names."""
    known, context = current_configuration(), click.get_current_context()
    chosen["isolated"] = known.isolated
    for name in ("engines", "reference", "executor"):
        typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        chosen[name] = known.trusted(name, chosen[name], is_of_settings=not typed)


def _check_paths(paths: tuple[str, ...], chosen: dict[str, Any]) -> int:
    if chosen.pop("coverage"):
        return _check_with_coverage(paths, chosen)
    outputs = _outputs(chosen)
    outputs.prepare()
    from gradcheck.cli.case_selection import CaseSelection
    from gradcheck.cli.last_failed import write_last_failed

    which = CaseSelection.of(paths, chosen)
    known, update, fix = chosen.pop("baseline"), chosen.pop("update_baseline"), chosen.pop("fix")
    chosen["baseline"] = _baseline(known, update, chosen["fail_on_drift"])
    chosen["derived"] = outputs.verbosity > 0
    chosen["shrink"] = _shrink_effort(chosen["shrink"], outputs)
    if chosen.pop("exitfirst"):
        chosen["maxfail"] = 1
    if fix or update:
        chosen["maxfail"] = None  # a case that does not run is neither corrected nor known
    unset = (None, ())
    given = {name: value for name, value in chosen.items() if value not in unset}
    if update:
        return _check_and_update_baseline(which, given, outputs)
    if given.get("jobs", 1) > 1 and chosen["cache"] is None:
        _preload(given)
    selection = which()
    outputs.forbid_overwriting(selection)
    told = outputs.begin() if not fix and "shrink" not in given else None
    result, is_written = _check_and_fix(which, given) if fix else (_run(selection, given, told), True)
    result = _write_smallest_cases(result)
    write_last_failed(result)
    outputs.write(result, told is not None)
    return max(result.exit_code, _removed_cases_exit_code(which, given, result), 0 if is_written else USAGE)


def _check_with_coverage(paths: tuple[str, ...], chosen: dict[str, Any]) -> int:
    """Check in this process and without a cache; then report coverage."""
    from gradcheck.checks.coverage import measure_coverage
    from gradcheck.reports.summary import coverage_lines

    everything, is_text = chosen["verbose"] > 0, chosen["output_format"] in ("full", "concise") and not chosen["file"]
    with measure_coverage(chosen["engines"]) as found:
        code = _check_paths(paths, {**chosen, "coverage": False, "jobs": None, "executor": None, "cache": None})
    for line in coverage_lines(found, everything):
        if is_text:
            write_stdout(f"{line}\n")
        else:
            write_stderr(line)
    return code


def _preload(given: dict[str, Any]) -> None:
    from gradcheck.checks.options import Options
    from gradcheck.checks.scheduling.parallel import preload

    preload(Options(**given))


def _cache(chosen: dict[str, Any], code: str | None) -> Cache | None:
    """Return the cache for gradcheck's digest `code`; None if it is off."""
    if not chosen["cache"] or code is None:
        return None
    names = options.engine_names(chosen, *(one.choices for one in chosen["overrides"]))
    known = (name for name in names if name in ENGINES)  # nothing is kept of other engines
    libraries = libraries_of(known)
    from gradcheck.cache import signing_key
    from gradcheck.cache.cache import user_cache

    if refused := signing_key.refusal(FOLDER):
        write_stderr(f"gradcheck: {refused}")
    return user_cache(code, libraries)


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

    found = read_baseline(file, update)
    if strict and not update and not found.agreement:
        raise UsageError(f"--fail-on-drift: {found.file} records no agreement", hint="run --update-baseline first")
    return found


def _check_and_update_baseline(which: CaseSelection, given: dict[str, Any], outputs: Outputs) -> int:
    from gradcheck.cli.baseline_file import update_baseline
    from gradcheck.language.case import STDIN

    known = given["baseline"]
    selection = which()
    outputs.forbid_overwriting(selection)
    for error in selection.errors:
        if error.place.file != STDIN and not os.path.lexists(error.place.file):
            raise error  # a missing path is a mistake, not a known failure
    result = _run(selection, {**given, "baseline": replace(known, claims={}, agreement={}), "shrink": None})
    try:
        result = update_baseline(known, result, _is_whole(which, given, result))
    finally:  # the report is written even if the baseline cannot be
        outputs.write(result)
    return result.exit_code


def _is_whole(which: CaseSelection, given: dict[str, Any], result: RunResult) -> bool:
    return which.has_whole_files and not result.interrupted and "maxfail" not in given


def _removed_cases_exit_code(which: CaseSelection, given: dict[str, Any], result: RunResult) -> int:
    """Return 1 if the baseline has cases that no longer exist."""
    if "baseline" not in given or not _is_whole(which, given, result):
        return 0
    from gradcheck.cli.baseline_file import report_removed_cases

    return report_removed_cases(given["baseline"], result)


def _check_and_fix(which: CaseSelection, given: dict[str, Any]) -> tuple[RunResult, bool]:
    """Write corrections and check again; return whether all were written."""
    from gradcheck.cli.fix import apply_corrections, reject_standard_input

    reject_standard_input(which.paths)
    return apply_corrections(_run(which(), given), lambda some: _run(some, given))


def _outputs(chosen: dict[str, Any]) -> Outputs:
    """Take all options of output out of `chosen`."""
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


def _shrink_effort(asked: bool | None, outputs: Outputs) -> ShrinkEffort | None:
    """Return the effort; by default only for the full report of people."""
    from gradcheck.checks.options import QUICK, THOROUGH

    if asked is None:
        return QUICK if outputs.format == "full" and outputs.verbosity >= 0 else None
    return THOROUGH if asked else None


def _run(selection: Loaded, given: dict[str, Any], told: Callable[[CaseResult], None] | None = None) -> RunResult:
    """Run the checks with a progress bar; each result is `told` at once."""
    from gradcheck.checks.options import Options
    from gradcheck.checks.scheduling.run import run
    from gradcheck.reports.commands.progress import Progress

    results, is_own = itertools.count(), click.get_current_context().find_root().obj is not None
    if is_own:
        gc.freeze()  # loaded objects stay, and need no search for cycles
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


def _write_smallest_cases(result: RunResult) -> RunResult:
    cases = tuple(
        replace(case, smallest=replace(case.smallest, file=write_smallest_case(case.id, case.smallest.case)))
        if case.smallest
        else case
        for case in result.cases
    )
    return replace(result, cases=cases)
