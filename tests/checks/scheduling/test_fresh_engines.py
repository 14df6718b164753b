"""A failed case once more, with Tensor classes imported anew."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gradcheck import run
from gradcheck.checks.result import RunResult
from gradcheck.language.loader import load_text

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks are made on Linux alone")

#: One list of steps for the whole process, which a pass empties when it has come to its end.
CLASS = """
import numpy as np

STEPS = []

class Tensor:
    def __init__(self, data):
        self.data, self.grad = np.asarray(data, float), None

    def __mul__(self, other):
        out = Tensor(self.data * other.data)
        STEPS.append((out, [(self, lambda g: g * other.data), (other, lambda g: g * self.data)]))
        return out

    def __add__(self, other):
        out = Tensor(self.data + other.data)
        STEPS.append((out, [(self, lambda g: g), (other, lambda g: g)]))
        return out

    def sin(self):
        out = Tensor(np.sin(self.data))
        STEPS.append((out, [(self, lambda g: g * undefined)]))
        return out

    def backward(self, gradient):
        self.grad = np.array(gradient)
        for out, shares in reversed(STEPS):
            for tensor, share in shares if out.grad is not None else ():
                old = 0 if tensor.grad is None else tensor.grad
                tensor.grad = old + share(out.grad)
        STEPS.clear()
"""
CASES = """
name: raises
inputs: {a: [1, 2]}
graph: {b: sin(a)}
backward: {b: [1, 0.5]}
---
name: right alone
inputs: {a: [1, 2], b: [3, 4]}
graph: {c: a * b, d: c + a}
backward: {d: [1, 0.5]}
"""


def checked(folder: Path, *changes: tuple[str, str]) -> RunResult:
    text = CLASS
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "mine.py").write_text(text)
    cases, errors = load_text(CASES, "cases.yaml")
    assert errors == []
    return run(cases, engines=[f"{folder / 'mine.py'}:Tensor"])


def test_what_an_earlier_pass_has_left_is_no_fault_of_a_later_case(tmp_path: Path) -> None:
    found = checked(tmp_path)
    assert [case.status for case in found.cases] == ["failed", "passed"]
    assert "leaves_something" in {one.kind for _, one in found.conventions}


def test_what_is_wrong_alone_stays_wrong(tmp_path: Path) -> None:
    found = checked(tmp_path, ("lambda g: g * self.data)", "lambda g: g * other.data)"))
    assert [case.status for case in found.cases] == ["failed", "failed"]
    assert any(c.diagnoses for c in found.cases[1].comparisons)
