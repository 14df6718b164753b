"""The examples of the contributors' guide that change or read one thing work as they stand there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.modes import quiet
from gradcheck.checks.claims.evaluations import check as engines
from gradcheck.language import trial_draws
from gradcheck.language.sampling import draw
from gradcheck.oracles.exact.dual_numbers import EXACT_RULES
from gradcheck.oracles.exact.prove import prove
from gradcheck.reports.phrases import PHRASES
from tests.checks.build import context_of
from tests.documents import blocks
from tests.from_text import case_of
from tests.paths import ROOT

GUIDE = ROOT / "CONTRIBUTING.md"


def example(part: str) -> str:
    """The guide's only Python example with this in it."""
    (found,) = [block for block in blocks(GUIDE, "python") if part in block]
    return found


def ran(part: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(example(part), str(GUIDE), "exec"), names)
    return names


def test_what_a_trial_draws_is_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradcheck.language import sampling

    changed = ran("def redraw_literal")["redraw_literal"]
    assert trial_draws.redraw_literal.__name__ == changed.__name__
    monkeypatch.setattr(sampling, "redraw_literal", changed)
    case = case_of("{inputs: {x: [[-5.0, 1.0]]}, graph: {y: x * x}, formulas: {y: ones_like(y)}, shapes: {x: [a, b]}}")
    drawn = draw(case, 0, 0).inputs["x"]
    assert np.all((drawn >= 1) & (drawn <= 2))


def test_an_exact_rule_serves_an_op() -> None:
    assert "logit" not in EXACT_RULES, "the guide's example has become a rule; show another one"
    text = """
        inputs: {x: "uniform(0.1, 0.9, [3])"}
        graph: {y: logit(x)}
        backward: {y: "randn(3)"}
        formulas: {x: [grad(y) / (x * (1 - x)), grad(y) / (x * (1 + x))]}
    """
    case = case_of(text)
    claims = [("x", claim) for claim in case.formulas["x"]]
    assert {proof.status for proof in prove(draw(case), claims)} == {"unsupported"}
    try:
        ran('@exact_rule("logit")')
        right, wrong = prove(draw(case), claims)
        assert right.status == "proved"
        assert wrong.status != "proved"
    finally:
        EXACT_RULES.pop("logit", None)


def test_a_tolerance_is_one_method() -> None:
    found = ran("atol=1e-8")
    assert found["allowed"].tolist() == pytest.approx([1e-8, 1.01e-8, 2e-8], rel=1e-4)
    assert found["strict"].tolist() == pytest.approx([1e-13, 1e-10, 1e-8])


def test_a_kind_of_claim_is_a_stage() -> None:
    stage = ran('fact("nans_agree"')
    good = context_of("{inputs: {x: [1.0, 2.0]}, graph: {y: x * x, loss: y.sum()}}")
    bad = context_of("{inputs: {x: [-1.0]}, graph: {y: sqrt(x), loss: y.sum()}}")
    for context, status in ((good, {"passed"}), (bad, {"passed", "failed"})):
        with quiet():
            list(engines(context))
            assert stage["applies"](context)
            assert {c.status for c in stage["check"](context)} == status


def test_a_sentence_is_an_entry() -> None:
    known = {**PHRASES}
    try:
        ran("out_of_paper")
        assert {"out_of_paper", "too_many"} <= set(PHRASES) - set(known), (
            "the example has become a fact; show another one"
        )
    finally:
        for kind in set(PHRASES) - set(known):
            del PHRASES[kind]


def test_a_failed_formula_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "{inputs: {x: [1.0, 2.0]}, graph: {y: (x * x).sum()}, formulas: {x: 3 * x}}"
    Path("derivation.yaml").write_text(text, encoding="utf-8")
    ran("failed_case_lines(result.cases[0]")
    assert "the formula of x is wrong" in capsys.readouterr().out


#: Files that are named by their folder alone, in a chapter about that folder.
FOLDERS = (
    *("gradcheck", "gradcheck/engines", "gradcheck/engines/tensor_class", "gradcheck/reports", "tests", "."),
    *("gradcheck/reports/page", "gradcheck/reports/phrases", "gradcheck/autograd/ops"),
    *(
        "gradcheck/checks/failures",
        "gradcheck/checks/closeness",
        "gradcheck/oracles/exact/ops",
        "gradcheck/language/symbolic/simplify",
    ),
    *("gradcheck/checks/failures/diagnosis", "tests/engines/dialects", "tests/checks/failures/diagnosis"),
    *("benchmarks/planted", "benchmarks/exam"),
)


@pytest.mark.parametrize("page", [GUIDE, ROOT / "ARCHITECTURE.md"], ids=lambda page: page.stem)
def test_the_files_named_exist(page: Path) -> None:
    named = re.findall(r"`([\w./-]+(?:\.py|\.txt|\.css|\.md|/))`", page.read_text(encoding="utf-8"))
    assert len(named) > 50
    missing = [name for name in named if not any((ROOT / folder / name).exists() for folder in FOLDERS)]
    assert missing == []


def test_what_is_looked_for_is_found() -> None:
    """Every `grep` of the table finds something, in few lines."""
    rows = [line for line in GUIDE.read_text(encoding="utf-8").splitlines() if line.startswith("| ") and "grep" in line]
    assert len(rows) >= 18
    for row in rows:
        found = re.search(r"`(grep .*?)` \|", row)
        assert found is not None, row
        command = found[1].replace("\\|", "|")  # a bar in a table has a backslash
        if "the words" not in command:
            lines = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
            assert 0 < len(lines) <= 60, command


def test_the_table_of_contents_leads_to_chapters() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    chapters = {"#" + line[3:].lower().replace(" ", "-") for line in text.splitlines() if line.startswith("## ")}
    links = {part.partition(")")[0] for part in text.split("](")[1:] if part.startswith("#")}
    assert len(links) >= 12
    assert links <= chapters
