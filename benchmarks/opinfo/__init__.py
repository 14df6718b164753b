"""torch's own database of operators as an exam: how many of its samples come out here as they do in torch.

`python -m benchmarks opinfo` asks every entry of `torch.testing._internal.common_methods_invocations.op_db` that has
gradients of the dtype, gives the same twice and knows no sparse layout. Each of its samples becomes a call in the case
language and torch's answer to it: values, and gradients for random incoming ones. It needs SciPy and expecttest, which
the database itself imports.

Options: `--list` names every sample that is not passed, `--only NAME` (repeatable) asks some entries, `--dtype NAME`
another dtype than float64, `--all-dtypes` the three of the table.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from benchmarks.opinfo.answers import verdict
from benchmarks.opinfo.database import Entry, entries
from benchmarks.timing import Row

DTYPES = ("float64", "complex128", "float32")


@dataclass
class Tally:
    """What came of one dtype."""

    entries: int = 0
    passed: int = 0
    samples: int = 0
    right: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    failing: list[str] = field(default_factory=list)

    def add(self, entry: Entry, shown: bool) -> None:
        """Ask every sample of an entry."""
        wrong: list[str] = []
        for sample in entry.samples():
            self.samples += 1
            found = verdict(entry, sample)
            if found is None:
                self.right += 1
                continue
            wrong.append(found)
            if shown:
                print(f"{entry.title}: {sample.text}\n    {found}", file=sys.stderr)
        self.entries += 1
        self.passed += not wrong
        if wrong:
            self.failing.append(entry.title)
            self.reasons[reason(Counter(map(reason, wrong)).most_common(1)[0][0])] += 1


def reason(found: str) -> str:
    """What a verdict has in common with others."""
    return found.partition(":")[0]


def tally(dtype: str, only: Sequence[str] = (), shown: bool = False) -> Tally:
    """All entries of the database in a dtype."""
    found = Tally()
    for entry in entries(dtype):
        if not only or entry.title in only or entry.name in only:
            found.add(entry, shown)
    return found


def row(dtype: str, found: Tally) -> Row:
    """One line of the table of benchmarks."""
    why = ", ".join(f"{count} {reason}" for reason, count in found.reasons.most_common())
    details = f"{found.right:,} of {found.samples:,} samples; {why or 'all pass'}"
    what = f"torch's database of operators, {dtype}"
    promised = "all" if dtype == "float64" else "≥ 90 %" if dtype == "complex128" else ""
    kept = found.passed == found.entries if dtype == "float64" else found.passed >= 0.9 * found.entries
    return Row(what, f"{found.passed} of {found.entries} entries", promised, kept, details)


def rows() -> Iterator[Row]:
    """float64 alone, which takes a minute or two."""
    yield row(DTYPES[0], tally(DTYPES[0]))


def main(arguments: list[str]) -> int:
    """With options; the exit code is 1 where an entry in float64 does not pass."""
    shown = "--list" in arguments
    only = [value for option, value in pairwise(arguments) if option == "--only"]
    dtypes = [value for option, value in pairwise(arguments) if option == "--dtype"]
    kept = True
    for dtype in DTYPES if "--all-dtypes" in arguments else dtypes or DTYPES[:1]:
        found = tally(dtype, only, shown)
        line = row(dtype, found)
        print(line, flush=True)
        print(f"not passed: {' '.join(found.failing)}", file=sys.stderr)
        kept = kept and line.kept
    return 0 if kept else 1
