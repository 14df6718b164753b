"""Many small case files: what reading and checking them costs beside the bare work.

Whole processes, start-up and all, in processor time: each has one thread, and other work on the machine counts least.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bare import text
from benchmarks.timing import Row, Timing, cpu_of_processes, race

FILES, MANY = 2_000, 10_000


def write_cases(folder: Path, files: int = FILES) -> None:
    """`files` case files of about half a kilobyte, a hundred to a folder."""
    for number in range(files):
        part = folder / f"part{number // 100:03d}"
        part.mkdir(exist_ok=True)
        (part / f"case{number:05d}.yaml").write_text(text(number), encoding="utf-8")


#: Where the bytecode of all modules is kept while this process lives, as an installed package's is beside it.
_BYTECODE = tempfile.TemporaryDirectory()


def command(*arguments: str) -> None:
    """One process, on one thread, as `gradcheck run` sets torch to be; modules are compiled once, as those of a package
    that is installed, whatever the environment says."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": _BYTECODE.name}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_cases(folder)
        (empty := folder.parent / f"{folder.name}-one").mkdir()
        write_cases(empty, 1)
        timing = race(
            {
                "validate": lambda: command("-m", "gradcheck", "validate", str(folder)),
                "start": lambda: command("-m", "gradcheck", "validate", str(empty)),
                "run": lambda: command("-m", "gradcheck", "run", "-q", "--no-cache", str(folder)),
                "bare": lambda: command("-m", "benchmarks.bare", str(FILES)),
            },
            rounds=5,
            clock=cpu_of_processes,
        )
    each = (timing.median("validate") - timing.median("start")) / FILES * 1e3
    details = f"CPU s: validate {timing.median('validate'):.2f}, of which start-up {timing.median('start'):.2f}"
    yield Row(f"`validate` of {FILES:,} files", f"{each:.2f} ms a file", "≤ 0.5 ms a file", each <= 0.5, details)
    ratio = timing.ratio("run", "bare")
    details = f"CPU s: run {timing.median('run'):.2f}, bare script {timing.median('bare'):.2f}"
    yield Row(f"`run` of {FILES:,} files", f"{ratio:.2f} × bare script", "≤ 2 × bare script", ratio <= 2, details)
    yield _of_many(timing)


def _of_many(few: Timing) -> Row:
    """Five times as many files: what one more costs decides, and start-up hardly does."""
    with tempfile.TemporaryDirectory() as name:
        write_cases(Path(name), MANY)
        timing = race(
            {
                "run": lambda: command("-m", "gradcheck", "run", "-q", "--no-cache", name),
                "bare": lambda: command("-m", "benchmarks.bare", str(MANY)),
            },
            rounds=7,
            clock=cpu_of_processes,
        )
    each = {who: (timing.median(who) - few.median(who)) / (MANY - FILES) * 1e3 for who in ("run", "bare")}
    details = f"CPU s: run {timing.median('run'):.2f}, bare script {timing.median('bare'):.2f}; "
    details += f"ms for one more: {each['run']:.2f}, {each['bare']:.2f}"
    ratio = timing.ratio("run", "bare")
    return Row(f"`run` of {MANY:,} files", f"{ratio:.2f} × bare script", "≤ 3.5 × bare script", ratio <= 3.5, details)
