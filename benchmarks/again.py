"""What a second run costs, of which the first knows everything, in processor time beside the first.

Whole processes, start-up and all; they take turns, so that a machine's drift hits all alike. What keeping costs is told
beside it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.files import FILES, write_cases
from benchmarks.timing import Row, cpu_of_processes, race

ROOT = Path(__file__).parent.parent
CASES, ONE = ROOT / "cases", ROOT / "cases" / "matmul" / "chain-of-four.yaml"


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        here = Path(name) / "project"
        (files := here / "files").mkdir(parents=True)
        write_cases(files)
        for what, target, promise in (("`cases/`", CASES, 0.35), ("one case", ONE, 0.4)):
            yield _again(here, what, target, promise)
        yield _beside_the_bare_script(here, files)


def _again(here: Path, what: str, target: Path, promise: float) -> Row:
    """A run that knows everything beside one that knows nothing."""
    timing = race(
        {
            "afresh": lambda: _run(here, "--no-cache", str(target)),
            "first": lambda: _first(here, str(target)),
            "again": lambda: _run(here, str(target)),
        },
        rounds=5,
        clock=cpu_of_processes,
    )
    ratio = timing.ratio("again", "afresh")
    times = ", ".join(f"{name} {timing.median(name):.2f}" for name in ("afresh", "first", "again"))
    details = f"CPU s: {times}; keeping costs {timing.ratio('first', 'afresh') - 1:+.0%}"
    promised = f"≤ {promise} × the first"
    return Row(f"second `run` of {what}", f"{ratio:.2f} × the first", promised, ratio <= promise, details)


def _beside_the_bare_script(here: Path, files: Path) -> Row:
    _run(here, str(files))
    timing = race(
        {
            "again": lambda: _run(here, str(files)),
            "bare": lambda: _process(ROOT, "-m", "benchmarks.bare", str(FILES)),
        },
        rounds=5,
        clock=cpu_of_processes,
    )
    ratio = timing.ratio("again", "bare")
    details = f"CPU s: run {timing.median('again'):.2f}, bare script {timing.median('bare'):.2f}"
    what = f"second `run` of {FILES:,} files"
    return Row(what, f"{ratio:.2f} × bare script", "≤ 0.8 × bare script", ratio <= 0.8, details)


def _first(here: Path, target: str) -> None:
    for file in (here / ".gradcheck_cache").glob("*"):
        file.unlink()
    _run(here, target)


def _run(here: Path, *arguments: str) -> None:
    """With the code that some of the shipped cases name."""
    _process(here, "-m", "gradcheck", "run", "-q", "--allow-code", *arguments)


def _process(here: Path, *arguments: str) -> None:
    """On one thread, as `gradcheck run` sets torch to be, with nothing doubted, and a home of its own."""
    known = {name: value for name, value in os.environ.items() if name != "CI"}
    paths = os.pathsep.join(filter(None, (str(ROOT), known.get("PYTHONPATH"))))
    changed = {"OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(here.parent / "home"), "PYTHONPATH": paths}
    command = [sys.executable, *arguments]
    subprocess.run(command, cwd=here, check=True, stdout=subprocess.DEVNULL, env=known | changed)
