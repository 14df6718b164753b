"""`gradcheck explain` as a person uses it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from gradcheck.language.loader import load
from tests.cli.conftest import Gradcheck
from tests.paths import ROOT


def test_text_shows_the_graph_its_values_and_the_formulas(gradcheck: Gradcheck, cases: Path) -> None:
    shown = gradcheck("explain", "cases/good.yaml::squares")
    assert shown.code == 0
    assert shown.err == ""
    assert shown.out.splitlines()[:15] == [
        "cases/good.yaml::squares",
        "",
        "inputs",
        "  x (2) [1., 2.]",
        "",
        "graph",
        "  y = x * x",
        "    (2) [1., 4.]",
        "  loss = y.sum()",
        "    5.",
        "",
        "gradients, from loss",
        "  x (2) = 2 * grad(y) * x",
        "  y (2) = ones_like(y)",
        "  loss () = 1",
    ]
    assert "equals the core's gradient at 1 point; 3" in shown.out
    assert "of 3 proved for any values" in shown.out


def test_expanded_formulas_speak_of_no_intermediate_gradients(gradcheck: Gradcheck, cases: Path) -> None:
    shown = gradcheck("explain", "cases/good.yaml::squares", "--expand")
    assert "  x (2) = 2 * x\n" in shown.out
    assert "grad(" not in shown.out


def test_yaml_is_read_back_by_the_loader(gradcheck: Gradcheck, cases: Path) -> None:
    shown = gradcheck("explain", "cases/good.yaml::squares", "--format", "yaml")
    document = (cases / "good.yaml").read_text().partition("---\n")[0] + shown.out
    (cases / "good.yaml").write_text(document)
    ((case,), errors) = load(["cases/good.yaml"])
    assert not errors
    assert {name: claim.text for name, (claim,) in case.formulas.items()} == {
        "x": "2 * grad(y) * x", "y": "ones_like(y)", "loss": "1",
    }  # fmt: skip
    assert gradcheck("run", "cases").code == 0


def test_latex(gradcheck: Gradcheck, cases: Path) -> None:
    shown = gradcheck("explain", "cases/good.yaml::squares", "--format", "latex")
    assert r"\nabla_{x} &= 2\,\nabla_{y} \odot x \\" in shown.out
    assert shown.out.startswith("% cases/good.yaml::squares\n\\begin{align*}\n")


def test_a_case_that_is_not_there(gradcheck: Gradcheck, cases: Path) -> None:
    shown = gradcheck("explain", "cases/good.yaml::squared")
    assert shown.code == 5
    assert "did you mean 'squares'" in shown.err


def test_files_with_errors_are_told_and_the_others_explained(gradcheck: Gradcheck, bad: Path) -> None:
    shown = gradcheck("explain", "cases")
    assert shown.code == 2
    assert "cases/good.yaml::squares" in shown.out
    assert "did you mean 'seed'" in shown.err


def test_it_needs_no_torch(gradcheck: Gradcheck, cases: Path) -> None:
    script = "import sys; from gradcheck.cli import main\ntry: main(['explain', 'cases'])\nexcept SystemExit: pass\n"
    done = subprocess.run(
        [sys.executable, "-c", script + "assert 'torch' not in sys.modules"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
