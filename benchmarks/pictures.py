"""`python -m benchmarks.pictures` draws the README's pictures again: the report in a terminal, as SVG by rich, and the
page, as a PNG by the system's Chromium. What they show is one run of one case, made here."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from contextlib import chdir
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

from gradcheck import run
from gradcheck.checks.result import RunResult
from gradcheck.reports import Look, render
from tests.browser import Visit, browser, why_not

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
CASE = """\
name: one summand in two sums
description: b reaches f through d and through e.
dims: {n: 3, m: 4}
inputs:
  a: randn(n, m)
  b: randn(m)
  c: randn(n, m)
graph:
  d: a + b
  e: tanh(b * c)
  f: d * e
  loss: f.sum()
formulas:
  a: grad(d)
  b: grad(d).sum(dim=0)
  c: (1 - e**2) * grad(e) * b
"""
WIDTH = 96


def result() -> RunResult:
    """The run, as if it were made in the folder of the case."""
    with tempfile.TemporaryDirectory() as name, chdir(name):
        Path("derivation.yaml").write_text(CASE, encoding="utf-8")
        run("derivation.yaml")  # what is shown is no first run, which loads the libraries
        found = run("derivation.yaml")
        (FOLDER / "terminal.svg").write_text(terminal(found), encoding="utf-8")
        Path("report.html").write_text(render(found, "html"), encoding="utf-8")
        photograph(Path("report.html").resolve())
        return found


def terminal(found: RunResult) -> str:
    """The report as a terminal shows it."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    console.print(Text.assemble(("$ ", "bold"), "gradcheck run derivation.yaml"))
    console.print(Text.from_ansi(render(found, "full", Look(color=True, width=WIDTH))), end="")
    drawn = console.export_svg(title="gradcheck", unique_id="gradcheck")
    return re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)  # nothing is asked for from elsewhere


def photograph(file: Path) -> None:
    """The page of the case, down to its graph."""
    with browser() as one:
        visit = Visit(one, viewport={"width": 980, "height": 1345})
        visit.open(file, "#n=0").screenshot(path=FOLDER / "page.png")
        visit.close()


def main() -> int:
    if why_not():
        print(why_not(), file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    os.environ.pop("NO_COLOR", None)
    print(f"{result().count('failed')} failed, as it should be; see {FOLDER}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
