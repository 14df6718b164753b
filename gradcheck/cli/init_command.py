"""`gradcheck init`: a first case, and the files of a repository."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gradcheck.cli import options
from gradcheck.cli.config import ConfiguredCommand, current_configuration
from gradcheck.cli.cookbook_command import SHAPE, parse_shapes, right_side
from gradcheck.cli.output import write_stdout
from gradcheck.errors import UsageError
from gradcheck.project_links import belongs_to_others, is_environment, project_root
from gradcheck.reports.safe_text import plain
from gradcheck.safe_files import open_parent_folder, read_regular

if TYPE_CHECKING:
    from gradcheck.language.expr.nodes import Expr

#: The most bytes of a file that is searched for gradcheck.
_MOST_BYTES = 1_000_000


@click.command("init", cls=ConfiguredCommand)
@click.argument("case", required=False, type=click.Path(path_type=Path), metavar="[FILE.yaml]")
@click.option("--formula", metavar="EXPRESSION", help="A case of this expression, with its derived gradients.")
@click.option("--engine", metavar="FILE.py:CLASS", help="A case for this Tensor class.")
@click.option("--function", metavar="FILE.py:NAME", help="A case that holds this code to what its forward computes.")
@SHAPE
@options.UNREAD_VERBOSE
def command(
    case: Path | None, formula: str | None, engine: str | None, function: str | None, shapes: tuple[str, ...]
) -> None:
    """Write a first case, and the files that check a repository's cases.

    These are a workflow for GitHub, hooks for pre-commit and the setting of an editor. With FILE.yaml, a first case
    there and nothing else; with an option, a case of your own thing, in `first.yaml` by default. Existing files stay
    as they are, and no code runs.
    """
    from gradcheck.language.loader.case_files import SUFFIXES
    from gradcheck.language.shell_words import shell_word

    if engine is not None and (formula is not None or function is not None):
        raise UsageError("--engine goes with no other case", hint="write one case for each")
    if shapes and formula is None and function is None:
        raise UsageError("--shape is of a tensor of --formula or --function", hint="name one of them")
    is_own = any(option is not None for option in (formula, engine, function))
    if case is None and not is_own:
        _write_project_files()
        return
    case = case or Path("first.yaml")
    if case.suffix.lower() not in SUFFIXES:
        raise UsageError(f"cannot write '{case}': cases are in files that end in .yaml or .yml", hint=f"{case}.yaml")
    allow = " --allow-code" if function is not None else "" if engine is None else f" --engine {shell_word(engine)}"
    run = f"gradcheck run {shell_word(_not_an_option(case.as_posix()))}{allow}"
    text = _own_case_text(case, run, formula, engine, function, shapes) if is_own else _first_case_text(case)
    if not _create_file(case, text):
        raise UsageError(f"'{case}' is there already", hint="name another file")
    _print(f"wrote {case.as_posix()}")
    _print(f"try it: {run}")


def _own_case_text(
    case: Path, run: str, formula: str | None, engine: str | None, function: str | None, shapes: tuple[str, ...]
) -> str:
    from gradcheck.reports.commands import first_case

    name = _name_of(case)
    if engine is not None:
        return first_case.engine_case(name, run)
    from gradcheck.checks.derivation import explain
    from gradcheck.language.cookbook.case_from_expression import case_from_expression
    from gradcheck.language.expr.parser import parse
    from gradcheck.language.expr.printer import to_text

    text = right_side(formula) if formula is not None else to_text(_expression_of(function or ""))
    found = case_from_expression(text, parse(text), parse_shapes(shapes))
    if function is None:
        return first_case.formula_case(explain(found), name, run)
    path, _, name_of_code = function.rpartition(":")
    code = f"{Path(os.path.relpath(path, case.parent)).as_posix()}:{name_of_code}"
    return first_case.code_case(found, name, run, code)


def _expression_of(function: str) -> Expr:
    from gradcheck.engines.implementation.forward_expression import forward_expression

    path, _, name = function.rpartition(":")
    if not path.endswith(".py") or not name:
        raise UsageError(f"'{function}' names no code", hint="write --function FILE.py:NAME")
    try:
        source = read_regular(path, _MOST_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read '{path}': {getattr(error, 'strerror', None) or error}") from error
    return forward_expression(source, name)


def _write_project_files() -> None:
    """Write all files; those of the repository go to its root."""
    from gradcheck.reports.commands import first_case

    paths = _paths()
    root, below = _repository()
    case = Path(paths[0]) / "first.yaml"
    if _has_cases(paths):
        _print(f"{', '.join(paths)} has cases already, and no other is written")
    else:
        _write_unless_present(case, _first_case_text(case))
    _write_unless_present(root / first_case.WORKFLOW, first_case.github_workflow(below))
    to_add = first_case.pre_commit_entry(below, paths)
    hint = f"to have the hooks, add below 'repos:'\n{to_add}"
    _write_unless_present(root / first_case.HOOKS, f"repos:\n{to_add}", hint)
    to_add = f'"yaml.schemas": {{"./{first_case.SCHEMA}": {json.dumps(first_case.case_file_patterns(below, paths))}}}'
    _write_unless_present(
        root / first_case.EDITOR, first_case.editor_settings(below, paths), f"to have its help, add {to_add}"
    )
    _write_unless_present(root / first_case.SCHEMA, _schema())
    _print("try it: gradcheck run")


def _paths() -> list[str]:
    """Return the folders of cases. Raises UsageError for a foreign one."""
    setting = current_configuration().settings.get("paths")
    if setting is None:
        return [*options.DEFAULT_PATHS]
    folder = os.path.realpath(setting.value[0])
    root, own = (os.path.realpath(project_root(os.path.join(one, "first.yaml"))) for one in (os.curdir, folder))
    below = [one for one in (Path(folder), *Path(folder).parents) if one != Path(root) and one.is_relative_to(root)]
    is_foreign = own != root or any(one.name.startswith(".") or is_environment(os.fspath(one)) for one in below)
    if setting.is_of_file and (is_foreign or not Path(folder).is_relative_to(root)):
        message = f"{setting.where} names '{setting.value[0]}' for cases, outside of '{root}', hidden or installed"
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
    from gradcheck.reports.commands.first_case import example

    return example(_not_an_option(path.as_posix()), _name_of(path))


def _name_of(path: Path) -> str:
    return path.stem.replace("_", " ").replace("-", " ")


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
