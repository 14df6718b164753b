"""The schema of the JSON report: all that is ever written fits it, and nothing that is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft7Validator

from gradcheck.checks.options import QUICK
from gradcheck.checks.result import CaseResult, Failure
from gradcheck.checks.scheduling.run import run
from gradcheck.facts import fact
from gradcheck.reports import render
from gradcheck.reports.report_schema import report_schema
from tests.from_text import case_of
from tests.reports.conftest import make_case, make_comparison, make_everything, make_run

VALID = Draft7Validator(report_schema())
CASES = [
    "inputs: {x: 'randn(n)'}\ndims: {n: 3}\ngraph: {y: (x * x).sum()}\nformulas: {x: x}",
    "inputs: {x: [0.0, 1.0]}\ngraph: {y: abs(x).sum()}\nexpected: {x: [.nan, .inf]}",
    "dtype: complex64\ninputs: {x: 'randn(3)'}\ngraph: {y: x * x}\nbackward: {y: 'ones_like(y)'}\nexpected: {x: 1}",
    "inputs: {x: 'randn(3)'}\ngraph: {y: x @ x, z: inv(y)}",
]


def errors(text: str) -> list[str]:
    return [f"{list(error.absolute_path)}: {error.message}" for error in VALID.iter_errors(json.loads(text))]


def test_it_is_a_schema() -> None:
    Draft7Validator.check_schema(report_schema())


def lost() -> CaseResult:
    return make_case("lost", "failed", incomplete=(Failure("crash", fact("said", text="oh")),))


def lacking() -> CaseResult:
    return make_case(comparisons=(make_comparison(status="unsupported", lacks="softmax"),))


@pytest.mark.parametrize("result", [make_everything(), make_run(), make_run(lost()), make_run(lacking())])
def test_reports_built_by_hand_fit_it(result: Any) -> None:
    assert errors(render(result, "json")) == []


@pytest.mark.parametrize(
    "options", [{"shrink": QUICK}, {"oracle": "numeric", "order": 2, "mode": "both"}, {"power": True, "derived": True}]
)
def test_reports_of_runs_fit_it(options: Any) -> None:
    assert errors(render(run(map(case_of, CASES), **options), "json")) == []


def test_another_key_or_another_type_does_not() -> None:
    document = json.loads(render(make_everything(), "json"))
    document["cases"][0]["colour"] = "red"
    document["cases"][1]["seconds"] = "1"
    assert len(errors(json.dumps(document))) == 2
