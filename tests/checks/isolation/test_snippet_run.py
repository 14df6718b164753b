"""Snippets run in a process of their own."""

from __future__ import annotations

import os
import sys

from gradcheck.checks.isolation.snippet_run import run_snippet


def test_it_returns_what_is_printed_or_raised() -> None:
    found = run_snippet("import torch\nprint(torch.ones(2) * 2, [1.5])")
    assert found is not None
    assert [array.tolist() for array in found.printed] == [[2.0, 2.0], 1.5]
    found = run_snippet("print(1 / 0)")
    assert found is not None
    assert found.error == "ZeroDivisionError: division by zero"


def test_a_process_that_ends_returns_nothing() -> None:
    assert run_snippet("import os\nos._exit(3)") is None


def test_it_sees_nothing_of_this_process() -> None:
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
    assert folder in map(os.path.abspath, sys.path) or "tests" in sys.modules
    found = run_snippet("import tests.paths")
    assert found is not None
    assert found.error.startswith("ModuleNotFoundError")
