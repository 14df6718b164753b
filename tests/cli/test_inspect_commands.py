"""`gradcheck explain` and `gradcheck trace` as a person uses them."""

from __future__ import annotations

import json
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
        "  x (2) = 2 * x",
        "  y (2) = ones_like(y)",
        "  loss () = 1",
    ]
    assert "equals the core's gradient at 3 points; 3" in shown.out
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
        "x": "2 * x", "y": "ones_like(y)", "loss": "1",
    }  # fmt: skip
    assert gradcheck("run", "cases").code == 0


def test_latex(gradcheck: Gradcheck, cases: Path) -> None:
    shown = gradcheck("explain", "cases/good.yaml::squares", "--format", "latex")
    assert r"\nabla_{x} &= 2\,x \\" in shown.out
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


def test_one_case_of_a_file(gradcheck: Gradcheck, cases: Path) -> None:
    outcome = gradcheck("trace", "cases/good.yaml::squares")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("cases/good.yaml::squares\n\nstep 1: backward from loss\n")
    assert "order: loss, y, x" in outcome.out


def test_a_file_of_several_cases_names_them(gradcheck: Gradcheck, cases: Path) -> None:
    outcome = gradcheck("trace", "cases/good.yaml")
    assert outcome.code == 2
    assert "holds 2 cases" in outcome.err
    assert "'cases/good.yaml::squares'" in outcome.err


def test_json(gradcheck: Gradcheck, cases: Path) -> None:
    outcome = gradcheck("trace", "cases/good.yaml::squares", "--json", "--tensor", "y")
    assert outcome.code == 0
    (step,) = json.loads(outcome.out)["steps"]
    assert [tensor["tensor"] for tensor in step["tensors"]] == ["y"]


def test_what_is_not_there(gradcheck: Gradcheck, cases: Path) -> None:
    outcome = gradcheck("trace", "cases/good.yaml::squares", "--tensor", "lss")
    assert outcome.code == 2
    assert "did you mean 'loss'?" in outcome.err
    outcome = gradcheck("trace", "cases/good.yaml::squares", "--step", "2")
    assert outcome.code == 2
    assert "the case has 1 step" in outcome.err


def test_an_invalid_file(gradcheck: Gradcheck, bad: Path) -> None:
    outcome = gradcheck("trace", "cases/bad.yaml")
    assert outcome.code == 2
    assert "cases/bad.yaml:2:" in outcome.err


def test_a_pass_that_raises_fails(gradcheck: Gradcheck, folder: Path) -> None:
    (folder / "a.yaml").write_text("{inputs: {x: [1, 2]}, graph: {y: exp(x)}}")
    outcome = gradcheck("trace", "a.yaml")
    assert outcome.code == 1
    assert "error non_scalar_backward" in outcome.out


# Pictures ------------------------------------------------------------------------------------------------


def test_a_trace_as_a_page(gradcheck: Gradcheck, cases: Path) -> None:
    shown = gradcheck("trace", "cases/good.yaml::squares", "--format", "html")
    assert shown.code == 0
    assert shown.out.startswith("<!DOCTYPE html>")
    assert 'class="controls"' in shown.out
    as_json = [gradcheck("trace", "cases/good.yaml::squares", *how).out for how in (["--json"], ["--format", "json"])]
    assert as_json[0] == as_json[1]


def test_a_graph_in_every_notation(gradcheck: Gradcheck, cases: Path) -> None:
    begins = {"svg": "<svg xmlns=", "mermaid": "flowchart TD\n", "dot": "digraph case {\n"}
    for notation, begin in begins.items():
        shown = gradcheck("graph", "cases/good.yaml::squares", "--format", notation)
        assert (shown.code, shown.err) == (0, "")
        assert shown.out.startswith(begin)
        assert "loss" in shown.out


def test_drawing_loads_neither_torch_nor_jinja2(cases: Path) -> None:
    code = (
        "import sys; sys.argv[1:] = ['graph', 'cases/good.yaml::squares']; from gradcheck.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "sys.exit(bool({'torch', 'jinja2', 'rich'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=cases.parent, capture_output=True, text=True, timeout=100,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (0, "")


def test_explain_ends_at_its_time_limit(cases: Path, gradcheck: Gradcheck) -> None:
    outcome = gradcheck("explain", "cases", "--timeout", "1e-6")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("not explained after 1e-06 seconds") == 2


def test_trace_ends_at_its_time_limit(cases: Path, gradcheck: Gradcheck) -> None:
    outcome = gradcheck("trace", "cases/good.yaml::squares", "--timeout", "1e-6")
    assert (outcome.code, outcome.out) == (2, "")
    assert "not traced after 1e-06 seconds" in outcome.err


def test_explain_derives_one_jacobian_or_hessian(gradcheck: Gradcheck, cases: Path) -> None:
    assert (
        "jacobian(y, x) (2, 2) = 2 * diag(x)"
        in gradcheck("explain", "cases/good.yaml::squares", "--jacobian", "y,x").out
    )
    assert "no tensor q" in gradcheck("explain", "cases/good.yaml::squares", "--hessian", "q,x").err
    shown = gradcheck("explain", "cases/good.yaml::squares", "--hessian", "x")
    assert (shown.code, "write --hessian loss,w" in shown.err) == (2, True)


def test_graph_ends_at_its_time_limit(cases: Path, gradcheck: Gradcheck) -> None:
    outcome = gradcheck("graph", "cases/good.yaml::squares", "--timeout", "1e-6")
    assert (outcome.code, outcome.out) == (2, "")
    assert "not drawn after 1e-06 seconds" in outcome.err
    assert gradcheck("graph", "cases/good.yaml::squares", "--timeout", "60", "--memory", "8GB").code == 0
