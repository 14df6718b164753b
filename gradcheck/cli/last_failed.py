"""The cases that failed in their last run, for `--lf` and `--ff`."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from gradcheck.cache.cache_folder import open_cache
from gradcheck.cli.output import write_stderr
from gradcheck.language.case import STDIN, Loaded

if TYPE_CHECKING:
    from gradcheck.checks.result import RunResult

_FILE = "last-failed.json"
#: The most bytes that are read: ids of a hundred thousand cases.
_MOST = 16 * 2**20


def read_last_failed() -> frozenset[str]:
    """Return ids of failed cases, and names of unreadable files."""
    try:
        with open_cache() as folder, folder.read(_FILE) as file:
            return frozenset(_ids(file) or ())
    except OSError:
        return frozenset()


def _ids(file: IO[bytes]) -> list[str] | None:
    """Return the ids in an open file; None if it holds something else."""
    try:
        found = json.loads(file.read(_MOST))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else None


def write_last_failed(result: RunResult) -> None:
    """Record what failed, if possible; cases that did not run stay."""
    known = read_last_failed()
    failed = {case.id for case in result.cases if case.is_failing and case.file != STDIN}
    seen = {name for case in result.cases for name in (case.id, case.file)}
    now = failed | {one for one in known - seen if os.path.exists(one.partition("::")[0])}
    if now == known:
        return
    data = json.dumps(sorted(now), indent=0).encode() + b"\n"
    with suppress(OSError), open_cache(create=True) as folder:
        if folder.may_write(_FILE, lambda file: _ids(file) is not None):
            folder.replace(_FILE, data)


def failed_only(found: Loaded) -> Loaded:
    """Return the cases that failed; all, if none did."""
    failed, _ = _partition(found)
    if failed.cases or failed.errors:
        return failed
    write_stderr("none of these cases failed when it last ran: all are checked")
    return found


def failed_first(found: Loaded) -> Loaded:
    """Return all cases, those that failed before the others."""
    failed, others = _partition(found)
    return Loaded(failed.cases + others.cases, failed.errors + others.errors)


def _partition(found: Loaded) -> tuple[Loaded, Loaded]:
    known = read_last_failed()
    failed = Loaded(
        tuple(case for case in found.cases if case.id in known or case.place.file in known),
        tuple(error for error in found.errors if error.place.file in known),
    )
    ids = {case.id for case in failed.cases}
    others = Loaded(
        tuple(case for case in found.cases if case.id not in ids),
        tuple(error for error in found.errors if error.place.file not in known),
    )
    return failed, others
