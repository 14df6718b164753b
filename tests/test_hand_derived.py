"""`docs/hand-derived.md` does what it says: its cell, its cases, its reports and its certificates."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch

from gradcheck import load, run
from tests.documents import blocks, gradcheck, without_time
from tests.paths import ROOT
from tests.processes import run_python

PAGE = ROOT / "docs" / "hand-derived.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The two cases of the page, by the names that it gives them."""
    for name, text in zip(("regression", "mended"), blocks(PAGE, "yaml"), strict=True):
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def test_the_cell_is_the_case() -> None:
    """What PyTorch computes in the cell are the formulas of the mended case."""
    names: dict[str, object] = {}
    exec(blocks(PAGE, "python")[0], names)
    x, w, b, t, n = (names[name] for name in ("x", "w", "b", "t", "n"))
    assert isinstance(x, torch.Tensor)
    assert isinstance(w, torch.Tensor)
    assert isinstance(b, torch.Tensor)
    with torch.no_grad():
        g = 2 * (x @ w + b - t) / n  # type: ignore[operator]
    torch.testing.assert_close(w.grad, x.T @ g)
    torch.testing.assert_close(b.grad, g.sum(dim=0))


@pytest.mark.parametrize(("number", "name", "code"), [(0, "regression", 1), (1, "mended", 0)])
def test_the_reports_shown_are_what_comes_out(folder: Path, number: int, name: str, code: int) -> None:
    """Line by line, in this order; `…` stands for lines left out."""
    shown = blocks(PAGE, "text")[number].splitlines()
    assert shown[0] == f"$ gradcheck run {name}.yaml"
    found, out = gradcheck(folder, "run", f"{name}.yaml")
    assert found == code
    lines = iter([without_time(line) for line in out.splitlines()])
    for line in map(without_time, shown[1:]):
        assert line == "…" or line in lines, f"{line!r} is not in\n{out}"


def test_every_formula_of_the_mended_case_is_certified(folder: Path) -> None:
    (result,) = run(load(folder / "mended.yaml").cases).cases
    own = [c for c in result.comparisons if c.what == "formula" and c.trial is None]
    assert len(own) == 4
    for comparison in own:
        assert comparison.certificate is not None
        assert comparison.certificate["bound"] < 1e-18
    assert [c.status for c in result.comparisons if c.what == "wrong_formula"] == ["passed", "passed"]


def test_what_reads_the_certificates(folder: Path) -> None:
    """The page's program, on this Python's gradcheck."""
    code = blocks(PAGE, "python")[1].replace('["gradcheck", "run"', '[sys.executable, "-m", "gradcheck", "run"')
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GRADCHECK_REFERENCE": "core"}
    result = run_python("-c", f"import sys\n{code}", cwd=folder, env=environment)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "y 2 * (y - t) / n True",
        "w x.T @ grad(y) True",
        "w x.T @ g True",
        "b grad(y).sum(dim=0) True",
    ]


def test_the_commands_named_at_the_end(folder: Path) -> None:
    for command in ("explain", "trace"):
        code, _ = gradcheck(folder, command, "mended.yaml")
        assert code == 0
    traced = json.loads(gradcheck(folder, "trace", "mended.yaml", "--json")[1])
    assert traced["steps"][0]["order"][0] == "loss"
