"""What commands cost that run nothing, beside importing what they cannot do without.

Whole processes, in processor time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.files import command, write_cases
from benchmarks.timing import Row, cpu_of_processes, race

MOST = 2.0


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        write_cases(Path(name), 1)
        asked = {"validate": ("validate", name), "list": ("list", name), "schema": ("schema",), "ops": ("ops",)}
        asked["--help"] = ("--help",)
        contestants = {what: partial(command, "-m", "gradcheck", *words) for what, words in asked.items()}
        contestants |= {floor: partial(command, "-c", f"import {floor}") for floor in ("numpy", "click")}
        timing = race(contestants, rounds=9, clock=cpu_of_processes)
    for what in asked:
        floor = "click" if what == "--help" else "numpy"
        ratio = timing.ratio(what, floor)
        details = f"CPU s: {timing.median(what):.2f}, `import {floor}` {timing.median(floor):.2f}"
        promised = f"≤ {MOST:.0f} × `import {floor}`"
        yield Row(f"`gradcheck {what}`", f"{ratio:.2f} × `import {floor}`", promised, ratio <= MOST, details)
