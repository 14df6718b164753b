"""`run --fix`: what is certain is written, after it is shown; nothing else, and never unasked."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import GOOD
from tests.cli.test_processes import start

CASE = """\
# my first case
nmae: two layers        # the name
dims: {n: 3, d:4, h: 5, k: 2}
inputs:
  X: np.random.randn(n, d)
  W1: randn(d, h)       # weights
  W2: randn(h, k)
graph:
  Z1: X * W1
  H = relu(Z1)
  Z2: W2 @ H            # the product
  L: (Z2^2).sum()
gradients:
  W2: H^T @ dZ2         # by hand
  X: grad(Z1) @ W1
"""
MENDED = """\
# my first case
name: two layers        # the name
dims: {n: 3, d: 4, h: 5, k: 2}
inputs:
  X: randn(n, d)
  W1: randn(d, h)       # weights
  W2: randn(h, k)
graph:
  Z1: X @ W1
  H: relu(Z1)
  Z2: H @ W2            # the product
  L: (Z2**2).sum()
formulas:
  W2: H.T @ grad(Z2)         # by hand
  X: grad(Z1) @ W1.T
"""


@pytest.fixture
def first(folder: Path) -> Path:
    path = folder / "first.yaml"
    path.write_text(CASE)
    return path


def test_one_slip_after_the_other(first: Path, gradcheck: Any) -> None:
    outcome = gradcheck("run", "--fix", "first.yaml")
    assert first.read_text() == MENDED
    assert outcome.code == 0
    assert "1 passed" in outcome.out
    assert "-  H = relu(Z1)\n+  H: relu(Z1)\n" in outcome.err
    assert re.fullmatch(r"wrote 1\d corrections to 1 file", outcome.err.splitlines()[-1])


def test_unasked_nothing_is_written(first: Path, gradcheck: Any) -> None:
    assert gradcheck("run", "first.yaml").code == 2
    assert first.read_text() == CASE


def test_line_ends_and_permissions_stay(first: Path, gradcheck: Any) -> None:
    second = f"---\n{GOOD}"
    first.write_bytes(f"{CASE}{second}".replace("\n", "\r\n").encode("utf-8-sig"))
    first.chmod(0o640)
    gradcheck("run", "--fix", "first.yaml")
    assert first.read_bytes() == f"{MENDED}{second}".replace("\n", "\r\n").encode("utf-8-sig")
    assert first.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in first.parent.iterdir() if path.name.startswith(".first")] == []


def test_what_is_not_certain_is_left(folder: Path, gradcheck: Any) -> None:
    text = "inputs: {x: [1, 2]}\ngraph: {y: x * z}\n"
    (folder / "a.yaml").write_text(text)
    outcome = gradcheck("run", "--fix", "a.yaml")
    assert (outcome.code, outcome.err) == (2, "no correction to write\n")
    assert (folder / "a.yaml").read_text() == text


def test_other_cases_keep_their_results(wrong: Path, cases: Path, gradcheck: Any) -> None:
    outcome = gradcheck("run", "--fix", "cases")
    assert "3 passed" in outcome.out
    assert "  x: 2 * x\n" in wrong.read_text()


def test_a_correction_that_shifts_the_parts_loses_no_failure(folder: Path, gradcheck: Any) -> None:
    case = "inputs: {x: [1.0, 2.0]}\ngraph:\n  y: (x * x).sum()\n"
    (folder / "a.yaml").write_text(case.replace("sum", "summ"))
    wrong = f"name: wrong\n{case}expected: {{x: [7.0, 5.0]}}\n"
    (folder / "b.yaml").write_text(f"{wrong}---\nname: other\n{case}---\nname: right\n{case}formulas: {{x: 3 * x}}\n")
    outcome = gradcheck("run", "--fix", "--shard", "1/2", "a.yaml", "b.yaml")
    assert outcome.code == 1
    assert "1 failed, 2 passed" in outcome.out
    assert "FAIL  wrong" in outcome.out


def test_the_standard_input_cannot_be_written(gradcheck: Any) -> None:
    outcome = gradcheck("run", "--fix", "-")
    assert (outcome.code, outcome.err) == (
        2,
        "gradcheck: --fix writes into files, and '-' is the standard input; name the file\n",
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_beside_it_is_not_waited_for(first: Path) -> None:
    """In a process of its own, which can be ended."""
    os.mkfifo("pipe.yaml")
    process = start("run", ".", "--fix", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 2
    assert "to 1 file" in err
    assert first.read_text() == MENDED
