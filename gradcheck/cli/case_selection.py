"""The cases of a run: those that `select` finds, less excluded ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from gradcheck.cli.engine_code import UserCode, user_code
from gradcheck.cli.group import NothingToDo
from gradcheck.cli.last_failed import failed_first, failed_only
from gradcheck.cli.options import engine_names
from gradcheck.cli.select import select
from gradcheck.language.case import Case, Loaded

if TYPE_CHECKING:
    from gradcheck.checks.options import Override

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
    engines: tuple[str, ...] = ()  # those that every case depends on
    overrides: tuple[Override, ...] = ()  # those whose cases depend on more files

    @classmethod
    def of(cls, paths: tuple[str, ...], chosen: dict[str, Any]) -> CaseSelection:
        """Take all options of selection out of `chosen`."""
        names = ("keyword", "tags", "shard", "last_failed", "failed_first", "changed_since")
        selected = {name: chosen.pop(name) for name in names}
        return cls(paths, **selected, engines=engine_names(chosen), overrides=tuple(chosen.get("overrides", ())))

    @property
    def has_whole_files(self) -> bool:
        """True if every case of each file runs."""
        narrowed = (self.keyword, self.tags, self.shard, self.last_failed, self.changed_since)
        return not (any(narrowed) or any("::" in path for path in self.paths))

    def __call__(self) -> Loaded:
        """Return cases and errors of files. Raises NothingToDo for neither."""
        found = select(self.paths, self.keyword, self.tags)
        if self.changed_since is not None:
            from gradcheck.cli.git_changes import changed_since  # here, since few runs ask git

            found = changed_since(found, self.changed_since, _code_of(self.engines), self._code_of)
            found = _require_changed_cases(found, self.changed_since)
        if self.shard is not None:  # before an order of this machine's own
            found = _select_shard(found, *self.shard)
        if self.last_failed:
            return failed_only(found)
        return failed_first(found) if self.failed_first else found

    def _code_of(self, case: Case) -> list[UserCode]:
        """Return the code of the engines that overrides choose for a case."""
        return _code_of(engine_names(*(one.choices for one in self.overrides if one.applies_to(case))))


def _code_of(engines: Sequence[str]) -> list[UserCode]:
    return [code for code in map(user_code, engines) if code]


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
