"""One line a failure, then the summary."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.checks.result import RunResult
from gradcheck.reports import render


def test_every_problem_has_one_line_that_starts_with_its_place(everything: RunResult) -> None:
    *problems, summary = render(everything, "concise").splitlines()
    assert [line.split(": ")[0] for line in problems] == [
        "cases/chain.yaml:13:3",
        "cases/chain.yaml:12:3",
        "cases/chain.yaml:22:6",
        "cases/chain.yaml:30:3",
        "cases/bad.yaml:5:21",
        "cases/bad.yaml:1:1",
        "cases/chain.yaml:1:1",
        "cases/chain.yaml:1:1",
    ]
    assert problems[1] == (
        "cases/chain.yaml:12:3: chain of four matrices: gradient of y: core differs from torch in 2 of 6 elements; "
        "worst at [2, 0]: core -21900, torch 21900 (abs 4.38e+04, rel 2)"
    )
    assert problems[4] == "cases/bad.yaml:5:21: unknown key 'reqires_grad'; did you mean 'requires_grad'?"
    assert summary == (
        "1 failed, 1 crashed, 1 xpassed, 1 passed, 1 invalid, 1 skipped, 1 xfailed, 1 unsupported in 4.2s"
    )


def test_a_cause_and_its_reason_take_one_line_without_the_consequences(
    run: Any, case: Any, failed: Any, diagnosed: Any
) -> None:
    one, two = np.ones(2), np.full(2, 2.0)
    text = render(run(case("chain", "failed", comparisons=(
        failed(one, two, tensor="x", consequence_of="exp at s"),
        failed(one, two, what="node", tensor="s", cause=("exp at s", "its gradient is wrong; all others are right"),
               diagnoses=(diagnosed("factor", "off by the constant factor 1/2"),)),
        failed(one, two, what="formula", tensor="x", engine="case", formula="y",
               diagnoses=(diagnosed("unknown", "no known mistake explains it; tried: sign"),)),
    ))), "concise")  # fmt: skip
    assert text.splitlines()[0] == (
        "cases/chain.yaml:12:3: chain: exp at s: its gradient is wrong; all others are right; worst at [0]: core 1, "
        "torch 2 (abs 1, rel 0.5); off by the constant factor 1/2"
    )
    assert "no known mistake" not in text
    assert len(text.splitlines()) == 3
