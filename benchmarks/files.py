"""Many small case files: what reading and checking them costs beside the bare work, whole processes side by side."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bare import TEMPLATES
from benchmarks.timing import Row, race

FILES = 2_000


def write_cases(folder: Path, files: int = FILES) -> None:
    """`files` case files of about half a kilobyte, the templates in turn, each with numbers of its own."""
    for number in range(files):
        text, _ = TEMPLATES[number % len(TEMPLATES)]
        part = folder / f"part{number // 100:03d}"
        part.mkdir(exist_ok=True)
        (part / f"case{number:05d}.yaml").write_text(text.format(number=number, seed=number), encoding="utf-8")


def command(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


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
                "run": lambda: command("-m", "gradcheck", "run", "-q", str(folder)),
                "bare": lambda: command("-m", "benchmarks.bare", str(FILES)),
            },
            rounds=5,
        )
    each = (timing.median("validate") - timing.median("start")) / FILES * 1e3
    details = f"s: validate {timing.median('validate'):.2f}, of which start-up {timing.median('start'):.2f}"
    yield Row(f"`validate` of {FILES:,} files", f"{each:.2f} ms a file", "≤ 0.5 ms a file", each <= 0.5, details)
    ratio = timing.ratio("run", "bare")
    details = f"s: run {timing.median('run'):.2f}, bare script {timing.median('bare'):.2f}"
    yield Row(f"`run` of {FILES:,} files", f"{ratio:.2f} × bare script", "≤ 2 × bare script", ratio <= 2, details)
