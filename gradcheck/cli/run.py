"""`gradcheck run`: check cases, and report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gradcheck.cli import options
from gradcheck.reports import FORMATS

if TYPE_CHECKING:
    from gradcheck.checks.effort import Effort
    from gradcheck.checks.result import RunResult
    from gradcheck.cli.select import Selection

DTYPES = ("float64", "float32", "float16", "bfloat16", "complex64", "complex128")
_POSITIVE = click.IntRange(min=1)
_TOLERANCE = click.FloatRange(min=0)


class ReportType(click.ParamType):
    """`FORMAT=PATH`, as a pair."""

    name = "FORMAT=PATH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Path]:
        format, equals, path = value.partition("=")
        if not equals or not path:
            self.fail(f"'{value}' is not FORMAT=PATH, such as junit=report.xml", param, ctx)
        if format not in FORMATS:
            self.fail(f"'{format}' is not a format; there are {', '.join(FORMATS)}", param, ctx)
        return format, Path(path)


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where the results go: one format to stdout or a file, and any number of reports beside it."""

    format: str
    file: Path | None
    reports: tuple[tuple[str, Path], ...]
    color: str
    verbosity: int

    def prepare(self) -> None:
        """Refuse at once what could not be written at the end."""
        from gradcheck.cli.output import prepare_file
        from gradcheck.errors import UsageError

        files = [*([self.file] if self.file else []), *(path for _, path in self.reports)]
        for path in files:
            prepare_file(path)
        if len({path.resolve() for path in files}) < len(files):
            raise UsageError("two reports would go to the same file", hint="name a file for each")

    def write(self, result: RunResult) -> None:
        import sys

        from gradcheck.cli.output import wants_color, width, write_file, write_stdout
        from gradcheck.reports import Look, render

        for format, path in self.reports:
            write_file(path, render(result, format, Look(verbosity=self.verbosity)))
        if self.file:
            color = self.color == "always"
            write_file(self.file, render(result, self.format, Look(color, verbosity=self.verbosity)))
        else:
            look = Look(wants_color(self.color, sys.stdout), width(), self.verbosity)
            write_stdout(render(result, self.format, look))


@click.command("run", cls=options.ConfiguredCommand)
@options.paths
@options.selection
@click.option("-x", "--exitfirst", is_flag=True, help="Stop at the first case that fails.")
@click.option("--maxfail", type=_POSITIVE, metavar="N", help="Stop after N cases that failed.")
@click.option(
    "--engine",
    "engines",
    multiple=True,
    metavar="NAME",
    help="An engine to test: a name, FILE.py:CLASS or MODULE:CLASS; repeatable. [default: core]",
)
@click.option("--reference", metavar="NAME", help="The engine to compare with. [default: torch]")
@click.option("--dtype", type=click.Choice(DTYPES), help="Run every case in this dtype.")
@click.option("--rtol", type=_TOLERANCE, help="Relative tolerance, instead of the dtype's.")
@click.option("--atol", type=_TOLERANCE, help="Tolerance relative to a tensor's largest magnitude.")
@click.option("--seed", type=int, metavar="N", help="Instead of each case's own seed.")
@click.option("--trials", type=click.IntRange(min=0), metavar="N", help="How often formulas are tried afresh.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True, max=1e8), metavar="SECONDS", help="For each case."
)
@click.option(
    "--oracle",
    type=click.Choice(["auto", "numeric", "none"]),
    help="Who is asked beyond the engines: the numeric oracle about what failed, about every gradient, or nobody.",
)
@click.option("--order", type=click.IntRange(1, 2), help="2: check gradients of gradients too.")
@click.option("--power", is_flag=True, help="Plant faults in what passes, and tell how many are caught.")
@click.option(
    "--shrink/--no-shrink",
    default=None,
    help="Look for the smallest case that fails in the same way, for every failure. [default: for the first few]",
)
@options.verbose
@click.option("-q", "--quiet", count=True, help="Show only what is wrong.")
@click.option(
    "--output-format", type=click.Choice(list(FORMATS)), default="full", show_default=True, help="What to write."
)
@click.option(
    "-o", "--output", "file", type=click.Path(path_type=Path), metavar="FILE", help="Write there, not to stdout."
)
@click.option("--report", "reports", type=ReportType(), multiple=True, help="Write a report there too; repeatable.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Use colour.")
def command(paths: tuple[str, ...], keyword: str | None, tags: tuple[str, ...], **chosen: Any) -> int:
    """Check every case below the paths.

    PATH is a case file or a folder of them, FILE::NAME a single case. Without any, the paths of [tool.gradcheck] in
    pyproject.toml are taken, else cases/.
    """
    file = chosen.pop("file")
    outputs = Outputs(
        format=chosen.pop("output_format"),
        file=None if file == Path("-") else file,
        reports=chosen.pop("reports"),
        color=chosen.pop("color"),
        verbosity=min(1, chosen.pop("verbose")) - min(1, chosen.pop("quiet")),
    )
    outputs.prepare()
    from gradcheck.cli.select import select

    chosen["derived"] = outputs.verbosity > 0
    chosen["shrink"] = _effort(chosen["shrink"], outputs)
    result = _with_files(_run(select(paths, keyword, tags), chosen))
    outputs.write(result)
    return result.exit_code


def _effort(asked: bool | None, outputs: Outputs) -> Effort | None:
    """Unasked only for people, who read a report in full."""
    from gradcheck.checks.effort import QUICK, THOROUGH

    if asked is None:
        return QUICK if outputs.format == "full" and outputs.verbosity >= 0 else None
    return THOROUGH if asked else None


def _with_files(result: RunResult) -> RunResult:
    """The smallest reproductions, each in a file of its own."""
    from dataclasses import replace

    from gradcheck.cli.cache import keep

    cases = tuple(
        replace(case, smallest=replace(case.smallest, file=keep(case.id, case.smallest.case)))
        if case.smallest
        else case
        for case in result.cases
    )
    return replace(result, cases=cases)


def _run(selection: Selection, chosen: dict[str, Any]) -> RunResult:
    """The checks, with a bar meanwhile; what was not set is the runner's to choose."""
    import sys

    from gradcheck.checks.runner import run
    from gradcheck.cli.output import is_terminal, write_stderr
    from gradcheck.language.case import Loaded
    from gradcheck.reports.commands.progress import Progress
    from gradcheck.reports.text import count

    if chosen.pop("exitfirst"):
        chosen["maxfail"] = 1
    total = len(selection.cases) + len({error.place.file for error in selection.errors})
    options = {name: value for name, value in chosen.items() if value not in (None, ())}
    with Progress(total, sys.stderr if is_terminal(sys.stderr) else None) as progress:
        result = run(
            Loaded(selection.cases, selection.errors), on_result=lambda case, _: progress.advance(case), **options
        )
    rest = total - len(result.cases)
    if rest and not result.interrupted:
        write_stderr(f"stopped early: {count(rest, 'case')} not run")
    return result
