"""The page of a run of thousands of cases: how large it is, how soon a browser has opened it, how quickly it filters.

5,000 cases, of which three fail; measured by the system's Chromium without a window, where there is one.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.bare import text
from benchmarks.timing import Row
from gradcheck import run
from gradcheck.reports import render
from tests.browser import Visit, browser, why_not

CASES, WRONG, IN_A_FILE, ROUNDS = 5_000, 3, 250, 5
#: What is typed, one after the other; after each the list is as it should be, and painted.
TYPED = ("c", "ca", "case04", "case049", "wrong", "", "agree")
_FILTERED = """async (typed) => {
  const find = document.getElementById("find"), start = performance.now();
  find.value = typed;
  find.dispatchEvent(new Event("input", {bubbles: true}));
  document.body.getBoundingClientRect();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  return performance.now() - start;
}"""


def write(folder: Path) -> Path:
    """Files with all cases; the formulas of a few are wrong."""
    parts = [
        f"name: wrong {number}\ndims: {{n: 192, d: 61}}\ninputs: {{X: 'randn(n, d)', w: randn(d)}}\n"
        "graph: {y: X @ w, loss: (y ** 2).sum()}\nformulas: {X: 'outer(y, w)'}\n"
        for number in range(WRONG)
    ]
    parts += [text(number) for number in range(CASES - WRONG)]
    for number, start in enumerate(range(0, CASES, IN_A_FILE)):
        file = folder / f"cases{number:02d}.yaml"
        file.write_text("\n---\n".join(parts[start : start + IN_A_FILE]), encoding="utf-8")
    return folder


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        found = run(write(Path(name)), engines=["core"], reference="core", oracle="none")
        start = time.perf_counter()
        written = render(found, "html")
        seconds = time.perf_counter() - start
        file = Path(name) / "report.html"
        file.write_text(written, encoding="utf-8")
        size = file.stat().st_size / 1e6
        what = f"page of {len(found.cases):,} cases"
        details = f"{found.count('failed')} failed; written in {seconds:.1f} s"
        yield Row(f"{what}: size", f"{size:.1f} MB", "< 20 MB", size < 20, details)
        if why_not():
            yield Row(f"{what}: in a browser", "not measured", "", True, why_not())
            return
        yield from _in_browser(what, file)


def _in_browser(what: str, file: Path) -> Iterator[Row]:
    opened: list[float] = []
    filtered: dict[str, list[float]] = {typed: [] for typed in TYPED}
    with browser() as one:
        for _ in range(ROUNDS):
            visit = Visit(one)
            start = time.perf_counter()
            page = visit.open(file)
            page.wait_for_selector("#rows li")
            opened.append(time.perf_counter() - start)
            for typed, seconds in filtered.items():
                seconds.append(page.evaluate(_FILTERED, typed))
            visit.close()
    took = f"all: {', '.join(f'{seconds:.2f}' for seconds in opened)} s"
    yield Row(f"{what}: opened", f"{median(opened):.2f} s", "< 2 s", median(opened) < 2, took)
    worst = max(map(median, filtered.values()))
    details = (
        f"the slowest of {len(TYPED)} texts, painting included; all: {max(map(max, filtered.values())):.0f} ms at most"
    )
    yield Row(f"{what}: filtered", f"{worst:.0f} ms", "< 100 ms", worst < 100, details)
