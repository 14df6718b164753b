"""`gradcheck snapshot`: what it writes, what it leaves, and what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

TEXT = """\
name: one
inputs:
  x: [[1, 2], [3, 4]]
graph:
  y: x * x   # squares
  loss: y.sum()
---
name: wrong
inputs: {x: [1, 2]}
graph: {y: (x * x).sum()}
formulas: {x: 3 * x}
---
name: three
inputs: {x: [1, 2]}
graph: {y: (x * x).sum()}
expected: {x: [2, 4]}
"""


def test_missing_gradients_are_written_and_hold(folder: Path, gradcheck: Any) -> None:
    file = folder / "a.yaml"
    file.write_text(TEXT)
    outcome = gradcheck("snapshot", "a.yaml", "--check")
    assert (outcome.code, outcome.out) == (1, "would write what 1 case must come to\n")
    assert file.read_text() == TEXT
    outcome = gradcheck("snapshot", "a.yaml")
    assert (outcome.code, outcome.out) == (1, "wrote what 1 case must come to\n")
    assert "a.yaml::wrong: is left as it is, since it does not pass" in outcome.err
    assert "+  x: [[2, 4], [6, 8]]" in outcome.err
    loss = "  loss: y.sum()\n"
    assert file.read_text() == TEXT.replace(loss, f"{loss}expected:\n  x: [[2, 4], [6, 8]]\n")
    assert gradcheck("run", "a.yaml", "-k", "not wrong").code == 0
    outcome = gradcheck("snapshot", "a.yaml", "-k", "one", "--check")
    assert (outcome.code, outcome.err) == (0, "")


def test_what_is_there_is_written_anew_only_if_asked(folder: Path, gradcheck: Any) -> None:
    file = folder / "a.yaml"
    file.write_text(TEXT.replace("x: [2, 4]", "x: [5, 5]"))
    gradcheck("snapshot", "a.yaml::three")
    assert "x: [5, 5]" in file.read_text()
    gradcheck("snapshot", "a.yaml::three", "--update")
    assert file.read_text() == TEXT


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_stay(folder: Path, gradcheck: Any, end: str) -> None:
    file = folder / "a.yaml"
    text = TEXT.replace("formulas: {x: 3 * x}\n", "").replace("\n", end).encode()
    file.write_bytes(text)
    assert gradcheck("snapshot", "a.yaml").code == 0
    assert file.read_bytes().count(b"expected:") == 3
    assert end == "\r" or file.read_bytes().count(b"\n") == file.read_bytes().count(b"\r\n")
    assert b"\n" not in file.read_bytes().replace(end.encode(), b"")


def test_snapshot_ends_a_case_at_its_time_limit(folder: Path, gradcheck: Any) -> None:
    (folder / "a.yaml").write_text(TEXT)
    outcome = gradcheck("snapshot", "a.yaml::one", "--timeout", "1e-6", "--check")
    assert (outcome.code, outcome.out) == (3, "would write what 0 cases must come to\n")
    assert outcome.err == "a.yaml::one: is left as it is, since it ran out of time after 1e-06 seconds\n"
    (folder / "gradcheck.toml").write_text("timeout = 1e-6\n")
    assert gradcheck("snapshot", "a.yaml::one", "--check").code == 3
    outcome = gradcheck("snapshot", "a.yaml::one", "--timeout", "60", "--memory", "8GB", "--check")
    assert (outcome.code, outcome.out) == (1, "would write what 1 case must come to\n")
