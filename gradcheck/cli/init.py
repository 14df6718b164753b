"""`gradcheck init`: a first case, with comments."""

from __future__ import annotations

from pathlib import Path

import click

from gradcheck.cli import options
from gradcheck.cli.output import write_stdout
from gradcheck.errors import UsageError
from gradcheck.reports.text import plain


@click.command("init")
@click.argument("file", required=False, type=click.Path(path_type=Path), metavar="[FILE.yaml]")
@options.UNREAD_VERBOSE
def command(file: Path | None) -> None:
    """Write a first case, with comments, to build upon.

    FILE.yaml is where it goes, by default first.yaml in the folder cases/. A file that is there already stays.
    """
    from gradcheck.language.loader.files import SUFFIXES
    from gradcheck.reports.commands.first_case import first_case, next_steps

    path = file or Path(options.DEFAULT_PATHS[0]) / "first.yaml"
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"cannot write '{path}': cases are in files that end in .yaml or .yml", hint=f"{path}.yaml")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(first_case(path.as_posix(), path.stem.replace("_", " ").replace("-", " ")))
    except FileExistsError:
        raise UsageError(f"'{path}' is there already", hint="name another file") from None
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}", hint="name another file") from error
    write_stdout("\n".join(map(plain, next_steps(path.as_posix()))) + "\n")
