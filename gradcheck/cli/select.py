"""Which cases a command is about: paths, `FILE::NAME`, keywords and tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck.cli.boundary import NothingToDo
from gradcheck.cli.keywords import compile_keywords
from gradcheck.cli.options import DEFAULT_PATHS
from gradcheck.errors import InvalidCase, UsageError
from gradcheck.language.suggest import did_you_mean

if TYPE_CHECKING:
    from gradcheck.language.case import Case


@dataclass(frozen=True, slots=True)
class Selection:
    """The cases chosen, and every error of the files read."""

    cases: tuple[Case, ...]
    errors: tuple[InvalidCase, ...]


def select(paths: Sequence[str], keyword: str | None = None, tags: Sequence[str] = ()) -> Selection:
    """Read the paths and keep what is asked for; `NothingToDo` where that is nothing."""
    from gradcheck.language.loader import load
    from gradcheck.language.loader.files import split_id

    matches = compile_keywords(keyword) if keyword is not None else None
    targets = [split_id(path) for path in paths or _default()]
    loaded = load(list(dict.fromkeys(file for file, _ in targets)))
    cases, errors = _named(targets, loaded.cases, loaded.errors)
    wanted = set(tags)
    kept = tuple(
        case
        for case in cases
        if (matches is None or matches(case.id)) and (not wanted or not wanted.isdisjoint(case.tags))
    )
    if not kept and not errors:
        raise _nothing(paths, cases)
    return Selection(kept, errors)


def select_one(path: str) -> Case:
    """The one case that a path, or `FILE::NAME`, names. Raises InvalidCase, and UsageError where there are several."""
    found = select([path])
    if len(found.cases) == 1 and not found.errors:
        return found.cases[0]
    if found.errors:
        raise found.errors[0]
    names = ", ".join(f"'{case.id}'" for case in found.cases[:3]) + (", …" if len(found.cases) > 3 else "")
    raise UsageError(f"{path} holds {len(found.cases)} cases, and this is about one", hint=f"name it: {names}")


def _default() -> tuple[str, ...]:
    if not Path(DEFAULT_PATHS[0]).exists():
        hint = "name a file or a folder, or set paths in [tool.gradcheck] of pyproject.toml"
        raise NothingToDo("no case was found: there is no folder 'cases' here", hint=hint)
    return DEFAULT_PATHS


def _named(
    targets: list[tuple[str, str | None]], cases: tuple[Case, ...], errors: tuple[InvalidCase, ...]
) -> tuple[list[Case], tuple[InvalidCase, ...]]:
    """What the targets name. Errors beside a case that was named and is valid are not its business."""
    names = {(_key(file), name) for file, name in targets if name is not None}
    if not names:
        return list(cases), errors
    whole = {Path(file).resolve() for file, name in targets if name is None}
    by_file: dict[str, list[str]] = {}
    for case in cases:
        by_file.setdefault(_key(case.place.file), []).append(case.name)
    lacking = {(file, name) for file, name in names if name not in by_file.get(file, ())}
    broken = {_key(error.place.file) for error in errors}
    for file, name in sorted(lacking):
        if file not in broken:
            raise _no_such_case(file, name, by_file.get(file, []))

    def below(file: str) -> bool:
        path = Path(file)
        return not whole.isdisjoint((path, *path.parents))

    kept = [c for c in cases if (_key(c.place.file), c.name) in names or below(_key(c.place.file))]
    files = {file for file, _ in lacking}
    return kept, tuple(e for e in errors if _key(e.place.file) in files or below(_key(e.place.file)))


def _key(file: str) -> str:
    return str(Path(file).resolve())


def _no_such_case(file: str, name: str, known: list[str]) -> NothingToDo:
    shown = ", ".join(f"'{other}'" for other in known[:5]) + (", …" if len(known) > 5 else "")
    hint = did_you_mean(name, known, f"it has {shown}" if known else "")
    return NothingToDo(f"no case is named '{name}' in {Path(file).name}", hint=hint)


def _nothing(paths: Sequence[str], found: Sequence[Case]) -> NothingToDo:
    where = ", ".join(paths or DEFAULT_PATHS)
    if not found:
        return NothingToDo(f"no case was found in {where}", hint="a case file ends in .yaml or .yml")
    hint = "gradcheck list shows their ids"
    known = sorted({tag for case in found for tag in case.tags})
    if known:
        hint += f"; their tags are {', '.join(known[:20])}"
    return NothingToDo(f"none of {len(found)} cases in {where} is selected", hint=hint)
