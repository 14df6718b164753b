"""Ten thousand small cases in two processes beside one: by the clock, since that is what they are for.

Other work on the machine counts here, so the details have its load. A machine of one core has nothing to divide among.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.files import command, write_cases
from benchmarks.timing import Row, race

FILES = 10_000


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_cases(folder, FILES)
        words = ("-m", "gradcheck", "run", "-q", "--no-cache", str(folder))
        timing = race({"one": lambda: command(*words), "two": lambda: command(*words, "-j", "2")}, rounds=3)
    ratio = timing.ratio("two", "one")
    details = f"s: one {timing.median('one'):.1f}, two {timing.median('two'):.1f}; {os.cpu_count()} cores, "
    details += f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load unknown"
    yield Row(f"`-j 2` on {FILES:,} files", f"{ratio:.2f} × one process", "≤ 0.6 × one process", ratio <= 0.6, details)
