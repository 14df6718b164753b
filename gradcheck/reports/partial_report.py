"""The fallback for cases that cannot be rendered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gradcheck.checks.isolation.failure_capture import try_part
from gradcheck.checks.result import CaseResult, Failure, RunResult


def drop_unrenderable(result: RunResult, tell: Callable[[RunResult], object]) -> RunResult:
    """Reduce each case that `tell` cannot render to its status, with a remark."""
    return replace(result, cases=tuple(_verdict_if_unrenderable(case, result, tell) for case in result.cases))


def _verdict_if_unrenderable(case: CaseResult, result: RunResult, tell: Callable[[RunResult], object]) -> CaseResult:
    lost: list[Failure] = []
    try_part("report", lambda: tell(replace(result, cases=(case,))), lost)
    if not lost:
        return case
    return replace(case, comparisons=(), smallest=None, power=None, output={}, incomplete=tuple(lost))
