"""`gradcheck conform` and `--engine` from the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.paths import WRONG_ENGINES, wrong_engine

pytestmark = pytest.mark.usefixtures("shallow")


def test_a_table_and_an_exit_code(cases: Path, gradcheck: Any) -> None:
    outcome = gradcheck("conform", "core", "--op", "mul", "--op", "exp")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == lines[-1] == "core conforms in all that it can be asked"
    assert any(line.endswith("2 right: mul, exp") for line in lines)


def test_a_wrong_engine_is_exit_code_1(cases: Path, gradcheck: Any) -> None:
    outcome = gradcheck("conform", wrong_engine("recurses"), "--op", "mul", "--json")
    assert outcome.code == 1
    found = json.loads(outcome.out)
    assert found["engine"] == "recurses.Tensor"
    assert {p["name"]: p["status"] for p in found["properties"]}["graphs of 100,000 nodes"] == "fails"


def test_a_file_that_cannot_be_read_is_exit_code_2(cases: Path, gradcheck: Any) -> None:
    """Its cases are among those that nobody checked: the engine may be wrong in them."""
    (cases / "broken.yaml").write_text("inputs: {x: [1, 2]}\ngraph: {y: x * z}\n")
    outcome = gradcheck("conform", "core", "--op", "mul")
    assert outcome.code == 2
    assert outcome.err.startswith("cases/broken.yaml:2:16: ")
    assert "cases       2 right, 0 wrong" in outcome.out


def test_a_case_that_is_invalid_when_it_is_checked_is_exit_code_2(cases: Path, gradcheck: Any) -> None:
    case = "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nexpected: {x: [7, 7]}\n"
    (cases / "only.yaml").write_text(f"{case}only: [cor]\n")
    (cases / "code.yaml").write_text(f"{case}implementations: {{y: own.py:square}}\n")
    outcome = gradcheck("conform", "core", "--op", "mul")
    assert outcome.code == 2
    assert "cases/only.yaml:4:1: there is no engine 'cor'; did you mean 'core'?\n" in outcome.err
    assert "gradcheck: left out 1 case about code of its own\n" in outcome.err


def test_files_without_a_case_about_an_engine_are_exit_code_5(cases: Path, gradcheck: Any) -> None:
    (cases / "code.yaml").write_text("inputs: {x: 1}\ngraph: {y: x * x}\nimplementations: {y: own.py:square}\n")
    outcome = gradcheck("conform", "core", "cases/code.yaml", "--op", "mul")
    assert (outcome.code, "no case about an engine was found in cases/code.yaml" in outcome.err) == (5, True)


def test_an_unknown_engine_is_exit_code_2(gradcheck: Any) -> None:
    outcome = gradcheck("conform", "nowhere.py:Tensor")
    assert outcome.code == 2
    assert "there is no file nowhere.py" in outcome.err


def test_engines_are_repeatable_beside_the_core(cases: Path, gradcheck: Any) -> None:
    mine = wrong_engine("right")
    outcome = gradcheck("run", "--engine", mine, "--engine", "core", "--output-format", "json")
    assert outcome.code == 0
    engines = {c["engine"] for case in json.loads(outcome.out)["cases"] for c in case["comparisons"]}
    assert {"right.Tensor", "core"} <= engines
    assert f"--engine '{mine}' --engine core" in json.loads(outcome.out)["cases"][0]["reproduce"]


def test_what_is_lacking_is_in_the_json(tmp_path: Path, gradcheck: Any) -> None:
    file = tmp_path / "case.yaml"
    file.write_text("inputs: {x: [[1, 2]]}\ngraph: {y: 'softmax(x, 1)', z: y.sum()}\n")
    outcome = gradcheck("run", str(file), "--engine", wrong_engine("right"), "--output-format", "json")
    assert outcome.code == 5  # nothing was checked
    found = json.loads(outcome.out)
    assert found["lacking"] == [
        {"engine": "right.Tensor", "lacks": ["softmax"], "unsupported": 1, "cases": 1, "unlocks": {"softmax": 1}}
    ]
    assert found["cases"][0]["status"] == "unsupported"


def test_two_engines_of_one_name_are_told_apart(tmp_path: Path, gradcheck: Any) -> None:
    file = tmp_path / "case.yaml"
    file.write_text("inputs: {a: [1, 2], b: [3, 4]}\ngraph: {d: a + b, e: b + a, loss: (d + e).sum()}\n")
    specs = []
    for folder, name in (("one", "right"), ("two", "overwrites")):
        copied = shutil.copytree(WRONG_ENGINES, tmp_path / folder)
        specs.append(f"{(copied / name).with_suffix('.py').rename(copied / 'mine.py')}:Tensor")
    words = [word for spec in specs for word in ("--engine", spec)]
    outcome = gradcheck("run", str(file), *words, "--output-format", "json")
    found = json.loads(outcome.out)["cases"][0]["comparisons"]
    wrong = {c["engine"] for c in found if c["status"] == "failed" and c["what"] == "gradient"}
    assert wrong == {specs[1]}
    assert set(specs) <= {c["engine"] for c in found}


def test_no_file_that_a_shell_puts_in_place_of_a_pattern_is_an_engine(cases: Path, gradcheck: Any) -> None:
    engine = Path("0.py:T.yaml")
    for file in (Path("0.py"), Path("e.py"), engine):
        file.write_text("open('ran', 'w')\n")
    for first in (engine, Path("e.py")):
        outcome = gradcheck("conform", str(first), "cases")
        assert (outcome.code, "is a file here" in outcome.err) == (2, True)
    assert not Path("ran").exists()
