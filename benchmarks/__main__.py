"""`python -m benchmarks [NAME …]`: every promise about speed, measured here and now, as a Markdown table."""

from __future__ import annotations

import platform
import sys
from importlib import import_module

import numpy as np

BENCHMARKS = (
    *("chain", "small", "middle", "scale", "matmul", "startup", "files", "again", "parallel", "linear", "failing"),
    *("peers", "diagnosis", "probing", "proof", "power", "steady", "textbook", "exam", "spellings", "opinfo"),
    *("fuzz", "folders", "mutation", "cancelling", "nan_traps", "derivatives", "derivations"),
    *("planted", "code", "iterating", "layers", "page"),
)
#: Those that take options of their own, and run alone then.
WITH_OPTIONS = ("exam", "fuzz", "folders", "probing", "opinfo", "mutation", "planted")
#: Where a benchmark stands, if not in a module of its name.
ELSEWHERE = {"spellings": "exam.spellings", "folders": "fuzz.folders"}


def main(names: list[str]) -> int:
    if names[1:] and names[0] in WITH_OPTIONS:
        return int(import_module(f"benchmarks.{ELSEWHERE.get(names[0], names[0])}").main(names[1:]))
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        print(f"unknown benchmark: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}\n")
    print("| what | measured | promised | kept | details |\n|---|---|---|---|---|")
    kept = True
    for name in names or BENCHMARKS:
        for row in import_module(f"benchmarks.{ELSEWHERE.get(name, name)}").rows():
            print(row, flush=True)
            kept = kept and (row.kept or not row.promised)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
