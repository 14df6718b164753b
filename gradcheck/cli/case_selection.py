"""The cases of a run: those that `select` finds, less excluded ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gradcheck.cli.group import NothingToDo
from gradcheck.cli.last_failed import failed_first, failed_only
from gradcheck.cli.options import engine_names
from gradcheck.cli.select import select
from gradcheck.language.case import Loaded

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class CaseSelection:
    """The selection of a command line; a call reads the files anew."""

    paths: tuple[str, ...]
    keyword: str | None = None
    tags: tuple[str, ...] = ()
    shard: tuple[int, int] | None = None
    last_failed: bool = False
    failed_first: bool = False
    changed_since: str | None = None
    code: tuple[str, ...] = ()  # files that every case depends on

    @classmethod
    def of(cls, paths: tuple[str, ...], chosen: dict[str, Any]) -> CaseSelection:
        """Take all options of selection out of `chosen`."""
        names = ("keyword", "tags", "shard", "last_failed", "failed_first", "changed_since")
        code = tuple(
            file for file in (spec.rpartition(":")[0] for spec in engine_names(chosen)) if file.endswith(".py")
        )
        return cls(paths, **{name: chosen.pop(name) for name in names}, code=code)

    @property
    def has_whole_files(self) -> bool:
        """True if every case of each file runs."""
        narrowed = (self.keyword, self.tags, self.shard, self.last_failed, self.changed_since)
        return not (any(narrowed) or any("::" in path for path in self.paths))

    def __call__(self) -> Loaded:
        """Return cases and errors of files. Raises NothingToDo for neither."""
        found = select(self.paths, self.keyword, self.tags)
        if self.changed_since is not None:
            from gradcheck.cli.git_changes import changed_since

            found = _require_changed_cases(changed_since(found, self.changed_since, self.code), self.changed_since)
        if self.last_failed:
            found = failed_only(found)
        elif self.failed_first:
            found = failed_first(found)
        return found if self.shard is None else _select_shard(found, *self.shard)


def _require_changed_cases(found: Loaded, revision: str) -> Loaded:
    if not found.cases and not found.errors:
        raise NothingToDo(f"no case has changed since {revision}")
    return found


def _select_shard(found: Loaded, which: int, of: int) -> Loaded:
    """Return one part of the run: cases and unreadable files in equal shares."""
    files = list(dict.fromkeys(error.place.file for error in found.errors))
    mine = set(_every_nth(files, which, of))
    kept = Loaded(tuple(_every_nth(found.cases, which, of)), tuple(e for e in found.errors if e.place.file in mine))
    if not kept.cases and not kept.errors:
        whole = len(found.cases) + len(files)
        raise NothingToDo(f"part {which} of {of} is empty: there is no more than {whole}", hint="make fewer parts")
    return kept


def _every_nth(items: Sequence[Item], which: int, of: int) -> Sequence[Item]:
    """Return every nth item, so that slow cases of one file are distributed."""
    return items[which - 1 :: of]
