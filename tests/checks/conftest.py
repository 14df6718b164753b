"""Cases as text, checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from gradcheck.checks.result import CaseResult, Comparison, RunResult
from gradcheck.checks.scheduling.run import run
from gradcheck.engines.torch import _plan

Check = Callable[..., CaseResult]
TorchWith = Callable[[str, Any], None]


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
def torch_with(monkeypatch: pytest.MonkeyPatch) -> Iterator[TorchWith]:
    """`torch_with("sinc", None)`: torch has no `sinc` until the test is over, or another function of this name; both
    may be in a module of torch's, as in `linalg.det`."""

    def change(name: str, function: Any) -> None:
        monkeypatch.setattr(f"torch.{name}", function)
        _plan.cache_clear()

    yield change
    monkeypatch.undo()
    _plan.cache_clear()


def failed(case: CaseResult, what: str = "") -> list[Comparison]:
    """The comparisons that did not pass, of one kind or of all."""
    return [c for c in case.comparisons if c.status != "passed" and what in ("", c.what)]


def those(case: CaseResult, what: str) -> list[Comparison]:
    """The comparisons of one kind."""
    return [c for c in case.comparisons if c.what == what]
