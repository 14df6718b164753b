"""`gradcheck trace` as a person would call it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Gradcheck


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
