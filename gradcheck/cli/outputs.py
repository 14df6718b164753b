"""Where the results of a run go: one format to stdout or a file, and any number of reports beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradcheck.checks.result import RunResult


@dataclass(frozen=True, slots=True)
class Outputs:
    """`format` goes to `file`, None meaning stdout; `reports` are pairs of a format and a file. `verbosity` is that of
    `reports.Look`, `color` what `--color` takes."""

    format: str
    file: Path | None
    reports: tuple[tuple[str, Path], ...]
    color: str
    verbosity: int

    def prepare(self) -> None:
        """Refuse at once what could not be written at the end. Raises UsageError."""
        from gradcheck.cli.output import prepare_file
        from gradcheck.errors import UsageError

        files = [path for _, path in self.reports]
        if self.file:
            files.append(self.file)
        for path in files:
            prepare_file(path)
        if len({path.resolve() for path in files}) < len(files):
            raise UsageError("two reports would go to the same file", hint="name a file for each")

    def write(self, result: RunResult) -> None:
        """Everything. Raises UsageError where a file cannot be written."""
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
