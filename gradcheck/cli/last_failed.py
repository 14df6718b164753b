"""The cases that failed in their last run, for `--lf` and `--ff`."""

from __future__ import annotations

import hmac
import json
import os
from contextlib import suppress
from hashlib import blake2b
from typing import IO, TYPE_CHECKING

from gradcheck.cache.cache_folder import FOLDER, open_cache
from gradcheck.cache.signing_key import trusted_key
from gradcheck.cli.output import write_stderr
from gradcheck.language.case import STDIN, Loaded
from gradcheck.reports.safe_text import count

if TYPE_CHECKING:
    from gradcheck.checks.result import RunResult

_FILE = "last-failed.json"
#: The most bytes that are read: ids of a hundred thousand cases.
_MOST = 16 * 2**20


def read_last_failed() -> frozenset[str]:
    """Return ids of failed cases, and names of unreadable files.

    A list without this user's signature counts as absent: it would choose the cases that `--lf` leaves out.
    """
    found = _read()
    secret = trusted_key(FOLDER) if found else None
    if found is None or secret is None or not hmac.compare_digest(found[1], _signature(found[0], secret)):
        return frozenset()
    return frozenset(found[0])


def _read() -> tuple[list[str], str] | None:
    try:
        with open_cache() as folder, folder.read(_FILE) as file:
            return _content(file)
    except OSError:
        return None


def _content(file: IO[bytes]) -> tuple[list[str], str] | None:
    """Return the ids and the signature in a file; None for something else."""
    try:
        found = json.loads(file.read(_MOST))
    except (ValueError, RecursionError):
        return None
    if isinstance(found, list):
        found = {"failed": found, "signature": ""}  # of version 0.9, which signed nothing
    if not isinstance(found, dict) or found.keys() != {"failed", "signature"}:
        return None
    ids, signature = found["failed"], found["signature"]
    is_own = isinstance(ids, list) and all(isinstance(one, str) for one in (*ids, signature))
    return (ids, signature) if is_own and str(signature).isascii() else None


def _signature(ids: list[str], secret: bytes) -> str:
    """Return the signature of ids in this folder."""
    text = json.dumps([_FILE, os.path.realpath(FOLDER), ids])
    return blake2b(text.encode(), key=secret, digest_size=32).hexdigest()


def write_last_failed(result: RunResult) -> None:
    """Record what failed, if possible; cases that did not run stay."""
    known = read_last_failed()
    failed = {case.id for case in result.cases if case.is_failing and case.file != STDIN}
    seen = {name for case in result.cases for name in (case.id, case.file)}
    now = failed | {one for one in known - seen if os.path.exists(one.partition("::")[0])}
    secret = trusted_key(FOLDER) if now != known else None
    if secret is None:
        return
    ids = sorted(now)
    data = json.dumps({"failed": ids, "signature": _signature(ids, secret)}, indent=0).encode() + b"\n"
    with suppress(OSError), open_cache(create=True) as folder:
        if folder.may_write(_FILE, lambda file: _content(file) is not None):
            folder.replace(_FILE, data)


def failed_only(found: Loaded) -> Loaded:
    """Return the cases that failed, and all errors; all cases, if none did."""
    failed, others = _partition(found)
    if not failed.cases and not failed.errors:
        write_stderr("--lf: none of these cases is known to have failed: all are checked")
        return found
    if others.cases:
        write_stderr(f"--lf: {count(len(others.cases), 'case')} not known to have failed, and not checked")
    return Loaded(failed.cases, found.errors)


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
