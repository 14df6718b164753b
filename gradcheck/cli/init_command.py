"""`gradcheck init`: a first case, and the files of a repository."""

from __future__ import annotations

import json
import os
from pathlib import Path
from shlex import quote

import click

from gradcheck.cli import options
from gradcheck.cli.config import ConfiguredCommand, current_configuration
from gradcheck.cli.output import write_stdout
from gradcheck.errors import UsageError
from gradcheck.reports.safe_text import plain
from gradcheck.safe_files import belongs_to_others, open_parent_folder, project_root, read_regular

#: The most bytes of a file that is searched for gradcheck.
_MOST_BYTES = 1_000_000


@click.command("init", cls=ConfiguredCommand)
@click.argument("case", required=False, type=click.Path(path_type=Path), metavar="[FILE.yaml]")
@options.UNREAD_VERBOSE
def command(case: Path | None) -> None:
    """Write a first case, and the files that check a repository's cases.

    These are a workflow for GitHub, hooks for pre-commit and the setting of an editor. With FILE.yaml, a first case
    there and nothing else. Existing files stay as they are.
    """
    from gradcheck.language.loader.case_files import SUFFIXES

    if case is None:
        _write_project_files()
        return
    if case.suffix.lower() not in SUFFIXES:
        raise UsageError(f"cannot write '{case}': cases are in files that end in .yaml or .yml", hint=f"{case}.yaml")
    if not _create_file(case, _first_case_text(case)):
        raise UsageError(f"'{case}' is there already", hint="name another file")
    _print(f"wrote {case.as_posix()}")
    _print(f"try it: gradcheck run {quote(_not_an_option(case.as_posix()))}")


def _write_project_files() -> None:
    """Write all files; those of the repository go to its root."""
    from gradcheck.reports.commands import scaffold

    paths = _paths()
    root, below = _repository()
    case = Path(paths[0]) / "first.yaml"
    if _has_cases(paths):
        _print(f"{', '.join(paths)} has cases already, and no other is written")
    else:
        _write_unless_present(case, _first_case_text(case))
    _write_unless_present(root / scaffold.WORKFLOW, scaffold.github_workflow(below))
    to_add = scaffold.pre_commit_entry(below, paths)
    _write_unless_present(
        root / scaffold.HOOKS,
        scaffold.pre_commit_config(below, paths),
        f"to have the hooks, add below 'repos:'\n{to_add}",
    )
    to_add = f'"yaml.schemas": {{"./{scaffold.SCHEMA}": {json.dumps(scaffold.case_file_patterns(below, paths))}}}'
    _write_unless_present(
        root / scaffold.EDITOR, scaffold.editor_settings(below, paths), f"to have its help, add {to_add}"
    )
    _write_unless_present(root / scaffold.SCHEMA, _schema())
    _print("try it: gradcheck run")


def _paths() -> list[str]:
    """Return the folders of cases. Raises UsageError for one outside."""
    setting = current_configuration().settings.get("paths")
    if setting is None:
        return [*options.DEFAULT_PATHS]
    root = os.path.realpath(project_root("first.yaml"))
    if setting.is_of_file and not Path(os.path.realpath(setting.value[0])).is_relative_to(root):
        message = f"{setting.where} names '{setting.value[0]}' for cases, which is outside of '{root}'"
        raise UsageError(message, hint="name the file: gradcheck init FILE.yaml")
    return [*setting.value]


def _has_cases(paths: list[str]) -> bool:
    from gradcheck.language.loader.case_files import Target, discover

    return any(isinstance(found, Target) for found in discover(paths))


def _repository() -> tuple[Path, str]:
    """Return the relative root of the repository, and this folder in it."""
    here = Path.cwd()
    for parent in (here, *here.parents):
        if os.path.exists(parent / ".git") and not belongs_to_others(parent / ".git", here):
            below = here.relative_to(parent).as_posix()
            return Path(os.path.relpath(parent)), "" if below == "." else f"{below}/"
    return Path(), ""


def _first_case_text(path: Path) -> str:
    from gradcheck.reports.commands.scaffold import first_case

    return first_case(_not_an_option(path.as_posix()), path.stem.replace("_", " ").replace("-", " "))


def _not_an_option(path: str) -> str:
    return f"./{path}" if path.startswith("-") else path


def _schema() -> str:
    from gradcheck.language.loader.schema import schema

    return json.dumps(schema(), indent=2) + "\n"


def _write_unless_present(path: Path, text: str, otherwise: str = "") -> None:
    """Write a file; if it exists without gradcheck, print what to add."""
    written = _create_file(path, text)
    _print(f"wrote {path.as_posix()}" if written else f"{path.as_posix()} is there already, and stays")
    if not written and otherwise and not _mentions_gradcheck(path):
        _print(otherwise)


def _mentions_gradcheck(path: Path) -> bool:
    try:
        return b"gradcheck" in read_regular(path, _MOST_BYTES)
    except OSError:
        return False


def _create_file(path: Path, text: str) -> bool:
    """Create a file; return False if it exists. Raises UsageError."""
    if os.path.lexists(path):
        return False
    try:
        with open_parent_folder(path, create=True) as (folder, name):
            folder.create(name, text.encode("utf-8", "backslashreplace"))
    except FileExistsError:
        return False
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}", hint="name another file") from error
    return True


def _print(text: str) -> None:
    write_stdout("\n".join(map(plain, text.splitlines())) + "\n")
