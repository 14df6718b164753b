"""`gradcheck init`: a first case that is right, and never over another file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def test_a_first_case_is_written_and_passes(folder: Path, gradcheck: Any) -> None:
    outcome = gradcheck("init")
    assert (outcome.code, outcome.out) == (0, "wrote cases/first.yaml\ntry it: gradcheck run cases/first.yaml\n")
    assert "2 formulas proved" in gradcheck("run").out
    assert "# sizes" in (folder / "cases" / "first.yaml").read_text()


def test_new_is_another_name_for_it(folder: Path, gradcheck: Any) -> None:
    assert gradcheck("new", "my_case.yaml").code == 0
    assert "name: my case\n" in (folder / "my_case.yaml").read_text()


@pytest.mark.parametrize(("file", "said"), [("there.yaml", "is there already"), ("x.txt", "end in .yaml or .yml")])
def test_what_it_does_not_write(folder: Path, gradcheck: Any, file: str, said: str) -> None:
    (folder / "there.yaml").write_text("mine")
    outcome = gradcheck("init", file)
    assert outcome.code == 2
    assert said in outcome.err
    assert (folder / "there.yaml").read_text() == "mine"
