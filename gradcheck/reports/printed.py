"""Results as text, as `print` shows them and the terminal does."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from gradcheck.checks.conformance.engine_conformance import Conformance
from gradcheck.checks.derivation import Explanation
from gradcheck.checks.derivative_explanation import ExplainedDerivative
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.reports import Look, render
from gradcheck.reports.commands import conformance_report, explanation


@singledispatch
def text_of(thing: Any) -> str:
    """Return the thing as text. Raises TypeError."""
    raise TypeError(f"a {type(thing).__name__} has no text")


@text_of.register
def _(result: RunResult) -> str:
    return render(result).strip("\n")


@text_of.register
def _(case: CaseResult) -> str:
    return text_of(RunResult((case,), case.seconds, {}))


@text_of.register
def _(found: Explanation) -> str:
    return explanation.render(found, "text").rstrip("\n")


@text_of.register
def _(found: ExplainedDerivative) -> str:
    return explanation.render_derivative(found, "text").rstrip("\n")


@text_of.register
def _(found: Conformance) -> str:
    return conformance_report.render(found, Look()).rstrip("\n")
