"""Cases as text, checked; and gradient rules that are wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.checks.result import CaseResult, Comparison, RunResult
from gradcheck.checks.runner import run

Check = Callable[..., CaseResult]


@pytest.fixture
def run_text(tmp_path: Path) -> Callable[..., RunResult]:
    """Run the cases of one file, given as text."""

    def runs(text: str, **options: Any) -> RunResult:
        file = tmp_path / "case.yaml"
        file.write_text(dedent(text), encoding="utf-8")
        return run(file, **options)

    return runs


@pytest.fixture
def check(run_text: Callable[..., RunResult]) -> Check:
    """The result of a single case, given as text."""

    def checks(text: str, **options: Any) -> CaseResult:
        result = run_text(text, **options)
        assert len(result.cases) == 1, [case.errors for case in result.cases]
        return result.cases[0]

    return checks


@pytest.fixture
def plant() -> Iterator[Callable[..., None]]:
    """Replace the gradient rules of an op until the test is over."""
    known: list[tuple[Any, Any]] = []

    def plants(name: str, *rules: Any) -> None:
        known.append((TABLE[name], TABLE[name].rules))
        object.__setattr__(TABLE[name], "rules", rules)

    yield plants
    for op, rules in reversed(known):
        object.__setattr__(op, "rules", rules)


def failed(case: CaseResult, what: str = "") -> list[Comparison]:
    """The comparisons that did not pass, of one kind or of all."""
    return [c for c in case.comparisons if c.status != "passed" and what in ("", c.what)]


def those(case: CaseResult, what: str) -> list[Comparison]:
    """The comparisons of one kind."""
    return [c for c in case.comparisons if c.what == what]
