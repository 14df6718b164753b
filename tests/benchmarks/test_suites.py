"""Suites of other projects, checked by torch's gradcheck and by gradcheck."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.paths import ROOT
from tests.processes import run_python

SUITE = """\
import torch
from torch.autograd import gradcheck, gradgradcheck

X = torch.randn(3, dtype=torch.float64, requires_grad=True)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_right():
    assert gradcheck(torch.sin, (X,), fast_mode=True)
    assert gradgradcheck(torch.sin, (X,))


def test_wrong():
    assert not torch.autograd.gradcheck(Doubled.apply, X, raise_exception=False)
"""


def test_both_verdicts_are_logged(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE, encoding="utf-8")
    log = tmp_path / "calls.jsonl"
    environment = {**os.environ, "SUITE_LOG": str(log), "PYTHONPATH": str(ROOT)}
    options = ("-p", "benchmarks.suites", "-p", "no:gradcheck", "-q", "-n", "0", "-p", "no:cacheprovider")
    done = run_python("-m", "pytest", *options, "test_suite.py", cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stdout
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [row["checker"] for row in rows] == ["gradcheck", "gradgradcheck", "gradcheck"]
    assert [row["torch"]["verdict"] == "pass" for row in rows] == [True, True, False]
    assert [row["ours"]["verdict"] == "pass" for row in rows] == [True, True, False]
    told = run_python("-m", "benchmarks.suites", str(log), cwd=ROOT).stdout
    assert told.startswith("3 calls: 2 pass and 1 fail with both\n")
