"""Of a run with a few planted mistakes, the first screen names them all: 24 lines of 80 columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcheck import run
from gradcheck.reports import Look, render
from tests.claims import engines_alone
from tests.paths import ROOT

ENGINE = Path(__file__).with_name("home_made.py")

#: What is written in place of what, and what the first screen says of it.
SLIPS = {
    "matmul": ("lambda g: self.data.T @ g", "lambda g: g.T @ self.data", "matmul, gradient of its second argument"),
    "broadcast": ("sent_to(g, other.shape)", "g", "broadcast not undone, in add"),
    "sum": ("spread(g, self.shape)", "spread(g, self.shape) * (g.size / self.data.size)", "sum, its gradient"),
    "tanh": ("lambda g: g * (1 - out**2)", "lambda g: -g * (1 - out**2)", "tanh, its gradient"),
    "exp": ("lambda g: g * out)", "lambda g: g * self.data)", "exp at up: its gradient"),
    "overwrites": ("arrived[id(parent)] + s if id(parent) in arrived else s", "s", "overwritten"),
    "mul": ("unbroadcast(g * self.data, other", "unbroadcast(g, other", "mul, gradient of its second argument"),
    "relu": ("g * (self.data > 0)", "g", "relu, its gradient"),
    "div": ("unbroadcast(-g * self.data", "unbroadcast(g * self.data", "div, gradient of its second argument"),
}
SOME = ("cases/broadcasting", "cases/elementwise", "cases/reuse")
PRODUCTS = ("cases/broadcasting", "cases/matmul", "cases/reduction/sums.yaml")


def engine(folder: Path, *slips: str) -> str:
    text = ENGINE.read_text(encoding="utf-8")
    for slip in slips:
        old, new, _ = SLIPS[slip]
        assert text.count(old) == 1, slip
        text = text.replace(old, new)
    path = folder / f"weekend_{'_'.join(slips)}.py"
    path.write_text(text, encoding="utf-8")
    return f"{path}:Tensor"


@pytest.mark.parametrize(
    ("paths", "slips"),
    [
        (PRODUCTS, ("matmul", "broadcast", "sum")),
        (SOME, ("tanh", "exp", "overwrites")),
        (SOME, ("mul", "relu", "div")),
    ],
)
def test_three_planted_mistakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paths: tuple[str, ...], slips: tuple[str, ...]
) -> None:
    monkeypatch.chdir(ROOT)
    # More trials, and formulas, say nothing of the engine.
    result = run(engines_alone(paths), engines=[engine(tmp_path, *slips)], trials=1)
    assert result.count("failed") > len(slips)
    lines = render(result, "full", Look(width=80)).splitlines()
    screen = lines[:24]
    assert all(len(line) <= 80 for line in screen if ".py:" not in line)
    for slip in slips:
        assert any(SLIPS[slip][2] in line for line in screen), "\n".join(screen)
    assert sum(line.endswith((" case", " cases")) and line.startswith("  ") for line in screen) <= len(slips) + 3


def test_the_engine_itself_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    cases = engines_alone(["cases/matmul", "cases/broadcasting", "cases/reduction"])
    result = run(cases, engines=[engine(tmp_path)], trials=1)
    assert result.count("passed") > 10
    assert [case.id for case in result.cases if case.status == "failed"] == []
