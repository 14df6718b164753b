"""Which cases failed when they last ran: `--lf` and `--ff` ask, and every run writes it down."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck.cache.folder import FOLDER, prepare
from gradcheck.cli.files import write_file
from gradcheck.cli.output import write_stderr
from gradcheck.errors import UsageError
from gradcheck.language.case import STDIN, Loaded

if TYPE_CHECKING:
    from gradcheck.checks.result import RunResult

_FILE = FOLDER / "last-failed.json"
_FAILED = ("crashed", "invalid", "failed", "xpassed")


def remembered() -> frozenset[str]:
    """The ids of the cases, and the names of the files that could not be read."""
    try:
        found = json.loads(_FILE.read_bytes())
    except (OSError, ValueError):
        return frozenset()
    return frozenset(one for one in found if isinstance(one, str)) if isinstance(found, list) else frozenset()


def remember(result: RunResult) -> None:
    """What failed now; what did not run stays as it was. Where nothing can be written, nothing is."""
    known = remembered()
    failed = {case.id for case in result.cases if case.status in _FAILED and case.file != STDIN}
    seen = {name for case in result.cases for name in (case.id, case.file)}
    now = failed | {one for one in known - seen if os.path.exists(one.partition("::")[0])}
    if now == known:
        return
    try:
        prepare()
        write_file(Path(_FILE), json.dumps(sorted(now), indent=0) + "\n")
    except (OSError, UsageError):
        return


def failed_only(found: Loaded) -> Loaded:
    """Those that failed; all, where none of them did."""
    failed, _ = _parted(found)
    if failed.cases or failed.errors:
        return failed
    write_stderr("none of these cases failed when it last ran: all are checked")
    return found


def failed_first(found: Loaded) -> Loaded:
    """All, those before the others that failed."""
    failed, others = _parted(found)
    return Loaded(failed.cases + others.cases, failed.errors + others.errors)


def _parted(found: Loaded) -> tuple[Loaded, Loaded]:
    known = remembered()
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
