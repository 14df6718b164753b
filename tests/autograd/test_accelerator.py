"""The core is complete without its accelerator."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from gradcheck.autograd import Tensor, accelerator
from gradcheck.autograd.node import Node
from tests.paths import ROOT

#: What the core promises, of values, graphs, first and second derivatives.
ESSENTIAL = "accelerated backward modes node op operators pullback second_order sweep tensor"
ABSENT = """
from gradcheck.autograd import Tensor, accelerator
from gradcheck.autograd.node import Node


def test_there_is_no_accelerator() -> None:
    assert accelerator.compiled is None
    assert Tensor.__bases__ == (Node,)
"""


def test_the_core_passes_its_tests_without_the_accelerator(tmp_path: Path) -> None:
    """In a copy without the folder `compiled`."""
    shutil.copytree(ROOT / "gradcheck", tmp_path / "gradcheck", ignore=shutil.ignore_patterns("compiled"))
    tests = tmp_path / "tests"
    (tests / "autograd").mkdir(parents=True)
    for path in (ROOT / "tests").glob("*.py"):
        shutil.copy2(path, tests)
    for path in (ROOT / "tests" / "autograd").glob("*.py"):
        shutil.copy2(path, tests / "autograd")
    shutil.copy2(ROOT / "pyproject.toml", tmp_path)
    (tests / "autograd" / "test_accelerated.py").write_text(ABSENT, encoding="utf-8")
    files = [f"tests/autograd/test_{name}.py" for name in ESSENTIAL.split()]
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-W", "ignore::DeprecationWarning"]
    surroundings = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PYTHONPATH"))}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        cwd=tmp_path,
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]


def test_a_sweep_over_other_nodes_is_the_general_one() -> None:
    """Their class has no plan; of tensors, the same gradients come out."""
    x = Node(np.ones(2), requires_grad=True)
    assert accelerator.sweep_arrays([x], [np.full(2, 3.0)])[x].tolist() == [3, 3]
    y = Tensor(np.ones(2), requires_grad=True)
    assert accelerator.sweep_arrays([y * 2.0], [np.full(2, 3.0)])[y].tolist() == [6, 6]
