"""No clock decides a result: on a machine that is a thousand times slower the report is the same, byte for byte."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gradcheck.checks.options import THOROUGH
from gradcheck.checks.scheduling.run import run
from gradcheck.reports import FORMATS, Look, render
from tests.conftest import WithRules

#: One case for everything that looks further: suggestions, a counterexample, a verdict, a kink, a cause, second order.
CASES = """
name: a wrong formula
inputs: {x: "randn(n, m)", w: "randn(m, k)"}
dims: {n: 3, m: 2, k: 4}
graph: {y: x @ w, h: tanh(y), loss: h.sum()}
formulas: {x: "(1 - h * h) @ w", w: "x.T @ (1 - h)"}
---
name: far from anything
inputs: {x: "randn(3)"}
graph: {y: (x * x).sum()}
formulas: {x: "sin(1.5 * x) * cos(x) * x + sin(2.5 * x) * cos(x) + exp(x) * sin(x) * 3"}
---
name: a kink
inputs: {x: [0.0, 1.0, -1.0]}
graph: {y: relu(x), loss: y.sum()}
expected: {x: [1, 1, 0]}
---
name: a wrong number
inputs: {x: [1.0, 2.0, 3.0]}
graph: {y: exp(x), loss: y.sum()}
expected: {x: [2.7, 7.4, 20.1]}
"""


@pytest.fixture
def slowed(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on every look at the clock finds that an hour has passed."""

    def slow() -> None:
        for name in ("perf_counter", "monotonic", "time", "process_time"):
            hours: Iterator[float] = itertools.count(0.0, 3600.0)
            monkeypatch.setattr(time, name, lambda hours=hours: next(hours))

    return slow


def reports(file: Path) -> dict[str, str]:
    """Every format, without how long it took."""
    found = run(file, shrink=THOROUGH, order=2, derived=True)
    result = replace(found, seconds=0.0, cases=tuple(replace(case, seconds=0.0) for case in found.cases))
    return {name: render(result, name, Look(width=100, verbosity=1)) for name in FORMATS}


def test_a_slow_machine_gives_the_same_report(
    tmp_path: Path, with_rules: WithRules, slowed: Callable[[], None]
) -> None:
    file = tmp_path / "cases.yaml"
    file.write_text(CASES, encoding="utf-8")
    with_rules("exp", lambda g, y, x: g * y * 1.5)
    quick = reports(file)
    slowed()
    slow = reports(file)
    assert slow.keys() == quick.keys()
    for name in quick:
        assert slow[name] == quick[name]
    assert "did you mean" in quick["full"]
    assert "core is wrong" in quick["full"]
