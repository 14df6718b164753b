"""`--baseline FILE`: known failures, a line each, so that version control shows what comes and goes."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcheck.checks.baseline import Baseline, KnownClaim
from gradcheck.cli.files import write_file
from gradcheck.cli.output import write_stderr
from gradcheck.errors import UsageError
from gradcheck.reports.text import count, plain

if TYPE_CHECKING:
    from gradcheck.checks.result import RunResult

_VERSION = 1
_HINT = "name the file that --update-baseline has written"


def read_baseline(path: Path, update: bool) -> Baseline:
    """What the file holds; nothing, where it is yet to be written. Raises UsageError."""
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        if update:
            return Baseline(path.as_posix())
        raise UsageError(f"there is no baseline '{path}'", hint="--update-baseline writes it") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the baseline '{path}': {error}", hint=_HINT) from error
    try:
        return Baseline(path.as_posix(), _claims(data))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"'{path}' is no baseline of gradcheck", hint=_HINT) from error


def _claims(data: Any) -> dict[str, frozenset[KnownClaim]]:
    if data["gradcheck-baseline"] != _VERSION:
        raise ValueError
    found: dict[str, frozenset[KnownClaim]] = {}
    for entry in data["failures"]:
        id = str(entry.pop("case"))
        found[id] = found.get(id, frozenset()) | {KnownClaim(**entry)}
    return found


def write_baseline(known: Baseline) -> None:
    """In an order that is always the same. Raises UsageError."""
    entries = [(id, claim) for id, claims in sorted(known.claims.items()) for claim in sorted(claims)]
    lines = [json.dumps({"case": id} | {k: v for k, v in asdict(claim).items() if v}) for id, claim in entries]
    text = ",\n".join(lines)
    write_file(Path(known.file), f'{{"gradcheck-baseline": {_VERSION}, "failures": [\n{text}\n]}}\n')


def updated(known: Baseline, result: RunResult, whole: bool) -> RunResult:
    """Write down what fails now, and see it so. Where files ran as a `whole`, what did not run in them is no more."""
    stays = [id for id in known.claims if os.path.exists(id.partition("::")[0])]
    ran = {case.id for case in result.cases}
    gone = set(known.gone(result) if whole else ())
    now = known.updated(result, [id for id in stays if id not in ran | gone])
    write_baseline(now)
    failures = sum(map(len, now.claims.values()))
    write_stderr(f"wrote {count(failures, 'known failure')} to {plain(now.file)}")
    return replace(result, cases=tuple(map(now.judged, result.cases)))


def tell_gone(known: Baseline, result: RunResult) -> int:
    """A line where the baseline has cases that are no more; the exit code that follows."""
    gone = known.gone(result)
    if not gone:
        return 0
    more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
    write_stderr(f"{plain(known.file)}: '{plain(gone[0])}'{more} fails no more or is no more; run --update-baseline")
    return 1
