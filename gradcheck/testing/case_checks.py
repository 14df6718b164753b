"""`check_cases`, `check_engine`, and the error of a failed check."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from gradcheck.checks.conformance.engine_conformance import Conformance, conform
from gradcheck.checks.result import CaseResult, Reproduction, RunResult
from gradcheck.checks.scheduling.run import Source, run
from gradcheck.engines.base import Engine
from gradcheck.engines.resolve import as_engine
from gradcheck.engines.resolve import resolve_engine as engine_of
from gradcheck.interrupts import marked_interrupts
from gradcheck.reports import Look, render
from gradcheck.tracebacks import frames_of

__all__ = ["check_cases", "check_engine"]
__tracebackhide__ = True


def with_snippet(found: CaseResult, text: str) -> CaseResult:
    """Return the result with its call as Python, if any."""
    return replace(found, smallest=Reproduction("", 0, text)) if text else found


class CheckFailed(AssertionError):
    """An assertion that failed; `result` is the result of the check."""

    def __init__(self, report: str, result: Any) -> None:
        super().__init__(report)
        self.result = result
        self._shown_in: int | None = None  # the number of the cell below which it stands

    def _repr_html_(self) -> str:
        found: str = self.result._repr_html_()
        return found

    def _repr_pretty_(self, printer: Any, is_within_itself: bool) -> None:
        printer.text(str(self))

    def _render_traceback_(self) -> list[str]:
        """Return IPython's lines: the call, and in a terminal the report."""
        called = next((frame.line for frame in frames_of(self)[1:] if frame.line), "")
        lines = str(self).rstrip().splitlines()
        shell = sys.modules["IPython"].get_ipython()
        if not hasattr(shell, "kernel"):
            return [f"{type(self).__name__}: {called}", *lines]
        if self._shown_in != shell.execution_count:  # IPython asks once more, for its history
            self._shown_in = shell.execution_count
            import_module("IPython.display").display(self)
        return [f"{type(self).__name__}: {called}", *lines[-1:]]


def check_cases(cases: Source, **choices: Any) -> RunResult:
    """Assert that every case does what it says.

    `cases` is a path, or several, or cases themselves. Options are those of the project's configuration; `choices`,
    fields of `Options`, win. Raises AssertionError with the report, also if there is no case, and UsageError for
    invalid choices.
    """
    from gradcheck.cli.project_options import project_options

    found = run(cases, project_options(**choices))
    if found.exit_code:
        raise failure_of(found)
    return found


def failure_of(found: RunResult) -> CheckFailed:
    """Return an AssertionError with the report of a failed check."""
    return CheckFailed(render(found, look=Look(width=100, verbosity=-1)), found)


@marked_interrupts()
def check_engine(
    engine: str | Engine | type,
    cases: Source | None = None,
    *,
    ops: Sequence[str] = (),
    timeout: float | None = None,
    allow: Sequence[str] = (),
) -> Conformance:
    """Assert that an engine is right: its ops, properties, and any `cases`.

    `engine` is what `--engine` takes, or a Tensor class, or an object with `evaluate` and `pull_back`. `ops` limits the
    ops that are tried, `timeout` is in seconds for each of their cases. `allow` names properties that may fail, as
    `gradcheck conform` shows them. Raises AssertionError with the table, also if a file of `cases` is invalid or no
    case is about an engine, and UsageError for an unknown engine.
    """
    found = conform(_engine(engine), cases, ops=ops, timeout=timeout)
    if found.cases is not None and (not found.cases.cases or any(one.status == "invalid" for one in found.cases.cases)):
        raise CheckFailed(found.cases.text(), found)
    if not replace(found, properties=tuple(one for one in found.properties if one.name not in allow)).holds:
        from gradcheck.reports.commands.conformance_report import render

        raise CheckFailed(render(found, Look(width=100, verbosity=1)), found)
    return found


def _engine(engine: Any) -> Engine:
    if isinstance(engine, str):
        return engine_of(engine)
    return as_engine(engine, getattr(engine, "__name__", type(engine).__name__), repr(engine))
