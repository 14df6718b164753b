"""`gradcheck validate`: errors with their places, and how much is valid; `gradcheck list`: ids, one a line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COMMAND = (sys.executable, "-m", "gradcheck")


def test_validate_counts_what_is_valid(cases: Path, gradcheck: Any) -> None:
    outcome = gradcheck("validate")
    assert (outcome.code, outcome.out) == (0, "2 valid cases\n")


def test_validate_shows_every_error_with_its_place(bad: Path, gradcheck: Any) -> None:
    outcome = gradcheck("validate")
    *errors, summary = outcome.out.splitlines()
    assert outcome.code == 2
    assert summary == "2 errors in 1 file, 2 valid cases"
    assert any(line.startswith("cases/bad.yaml:2:16: ") and "'z'" in line for line in errors)
    assert any(line.startswith("cases/bad.yaml:3:1: ") and "did you mean 'seed'?" in line for line in errors)


def test_validate_names_what_is_valid_on_demand(cases: Path, gradcheck: Any) -> None:
    lines = gradcheck("validate", "-v").out.splitlines()
    assert lines == ["cases/good.yaml::squares: valid", "cases/good.yaml::a product: valid", "2 valid cases"]


def test_list_shows_ids(cases: Path, gradcheck: Any) -> None:
    outcome = gradcheck("list")
    assert outcome.out == "cases/good.yaml::squares\ncases/good.yaml::a product\n"
    assert outcome.code == 0


@pytest.mark.parametrize(
    "arguments",
    [("-k", "squares"), ("-t", "easy"), ("cases/good.yaml::squares",), ("-k", "not product", "cases/good.yaml")],
)
def test_list_selects(cases: Path, gradcheck: Any, arguments: tuple[str, ...]) -> None:
    assert gradcheck("list", *arguments).out == "cases/good.yaml::squares\n"


def test_list_adds_tags_on_demand(cases: Path, gradcheck: Any) -> None:
    assert gradcheck("list", "-v").out == "cases/good.yaml::squares  [easy]\ncases/good.yaml::a product\n"


def test_list_ends_ids_by_nul_for_xargs(folder: Path, gradcheck: Any) -> None:
    name = "two  words \\n 'it' $(x) \u3164"  # the last is a letter without a shape
    (folder / "a b.yaml").write_text(f"name: {json.dumps(name)}\ninputs: {{x: 1}}\ngraph: {{y: x * x}}\n")
    assert "\\u3164" in gradcheck("list", ".").out
    assert gradcheck("list", "--null", "-v", ".").out == f"a b.yaml::{name}\0"
    assert gradcheck("run", gradcheck("list", "-0", ".").out[:-1]).code == 0


def test_names_that_are_no_text_are_listed_as_bytes(folder: Path) -> None:
    """Escaped, they would name another file; the command of a report would, too."""
    case = "name: a\ninputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nexpected: {x: [7, 7]}\n"
    with open(os.fsencode(folder) + b"/b\xff.yaml", "w") as file:
        file.write(case)
    (folder / "b\\udcff.yaml").write_text(case.replace("7, 7", "2, 4"))
    listed = subprocess.run(
        [sys.executable, "-m", "gradcheck", "list", "--null", "."], capture_output=True, check=False
    )
    assert sorted(listed.stdout.split(b"\0")) == [b"", b"b\\udcff.yaml::a", b"b\xff.yaml::a"]
    told = subprocess.run([*COMMAND, "run", "."], capture_output=True, check=False, text=True)
    assert "reproduce: (no command: the name has characters that are not shown)" in told.stdout


def test_list_names_files_that_are_no_cases(bad: Path, gradcheck: Any) -> None:
    outcome = gradcheck("list")
    assert outcome.code == 2
    assert outcome.out.count("\n") == 2
    assert outcome.err.startswith("cases/bad.yaml:")


def test_validate_says_what_a_run_would_of_values(cases: Path, gradcheck: Any) -> None:
    (cases / "sizes.yaml").write_text(
        "inputs: {x: 'zeros(1e-300)'}\ngraph: {y: x * 2}\n---\ninputs: {x: randn(3)}\ngraph: {y: x * 9 ** 387420489}\n"
    )
    outcome = gradcheck("validate")
    assert (outcome.code, outcome.out.splitlines()) == (
        2,
        [
            "cases/sizes.yaml:1:14: a size must be an integer, not 1e-300",
            "cases/sizes.yaml:5:16: 9 ** 387420489 does not fit in 64 bits; write the base as a float",
            "2 errors in 1 file, 2 valid cases",
        ],
    )
    assert gradcheck("run", "cases/sizes.yaml").code == 2
