"""The file of `--baseline`: known failures and agreement, a line each."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gradcheck.checks.baseline import Baseline, KnownClaim
from gradcheck.cli.output import write_stderr
from gradcheck.cli.write_files import write_file
from gradcheck.errors import UsageError
from gradcheck.reports.safe_text import count
from gradcheck.safe_files import read_regular

if TYPE_CHECKING:
    from gradcheck.checks.result import RunResult

_VERSION = 1
#: A baseline of 300,000 cases is smaller. To read so much takes 10 seconds, and 1.6 GB where it holds brackets alone.
_MOST_BYTES = 64_000_000
_HINT = "name the file that --update-baseline has written"
_BEGINS, _LOOKED_AT = re.compile(rb'\s*\{\s*"gradcheck-baseline"\s*:'), 4096
_CONFLICT = re.compile(r"^(<{7}|>{7}|={7})", re.MULTILINE)
_MERGE = "keep the lines of both sides, or run --update-baseline after removing it"


def read_baseline(path: Path, update: bool) -> Baseline:
    """Return the baseline, or a new one for `update`. Raises UsageError."""
    try:
        text = read_regular(path, _MOST_BYTES).decode("utf-8")
    except FileNotFoundError:
        if update:
            if not os.access(path.parent, os.W_OK):
                raise UsageError(f"cannot write the baseline '{path}'", hint="name another file") from None
            return Baseline(path.as_posix(), measures_drift=True)
        raise UsageError(f"there is no baseline '{path}'", hint="--update-baseline writes it") from None
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot read the baseline '{path}': {said}", hint=_HINT) from error
    if _CONFLICT.search(text):
        raise UsageError(f"the baseline '{path}' has the marks of a merge in it", hint=_MERGE)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"cannot read the baseline '{path}': {error}", hint=_HINT) from error
    try:
        agreement = {str(id): {str(name): float(near) for name, near in of.items()} for id, of in _agreement(data)}
        return Baseline(path.as_posix(), _claims(data), agreement, measures_drift=update or bool(agreement))
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"'{path}' is no baseline of gradcheck", hint=_HINT) from error


def _claims(data: Any) -> dict[str, frozenset[KnownClaim]]:
    if data["gradcheck-baseline"] != _VERSION:
        raise ValueError
    found: dict[str, set[KnownClaim]] = {}
    for entry in filter(None, data["failures"]):
        id = str(entry.pop("case"))
        step, texts = int(entry.pop("step", 0)), {key: str(value) for key, value in entry.items()}
        found.setdefault(id, set()).add(KnownClaim(step=step, **texts))
    return {id: frozenset(claims) for id, claims in found.items()}


def _agreement(data: Any) -> Iterator[tuple[Any, Any]]:
    for entry in filter(None, data.get("agreement", ())):
        yield entry["case"], entry["to"]


def write_baseline(known: Baseline) -> None:
    """Write sorted, equal lines that version control can merge."""
    entries = [(id, claim) for id, claims in sorted(known.claims.items()) for claim in sorted(claims)]
    failures = [{"case": id} | {k: v for k, v in asdict(claim).items() if v} for id, claim in entries]
    agreement = [{"case": id, "to": dict(sorted(of.items()))} for id, of in sorted(known.agreement.items())]
    text = f'{{"gradcheck-baseline": {_VERSION}, "failures": [\n{_lines(failures)}null], "agreement": [\n'
    write_file(Path(known.file), f"{text}{_lines(agreement)}null]}}\n", _is_baseline)


def _is_baseline(file: IO[bytes]) -> bool:
    return _BEGINS.match(file.read(_LOOKED_AT)) is not None


def _lines(entries: Sequence[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(entry, ensure_ascii=False)},\n" for entry in entries)


def update_baseline(known: Baseline, result: RunResult, whole: bool) -> RunResult:
    """Write the failures, apply them; `whole` files drop cases not run."""
    now = known.updated(result, whole, _is_there(known))
    write_baseline(now)
    failures = sum(map(len, now.claims.values()))
    write_stderr(f"wrote {count(failures, 'known failure')} to {now.file}")
    return replace(result, cases=tuple(map(now.apply_to, result.cases)))


def _is_there(known: Baseline) -> Callable[[str], bool]:
    """Return a function that tells whether a case file still exists."""
    return lambda file: os.path.exists(Path(known.file).parent / file)


def report_removed_cases(known: Baseline, result: RunResult) -> int:
    """Report baseline cases that no longer exist; return the exit code."""
    gone = known.vanished_cases(result, _is_there(known))
    if not gone:
        return 0
    more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
    write_stderr(f"{known.file}: '{gone[0]}'{more} fails no more or is no more; run --update-baseline")
    return 1
