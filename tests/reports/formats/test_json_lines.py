"""JSON, a line a case: together they are the JSON report."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

from gradcheck.checks.result import RunResult
from gradcheck.facts import fact
from gradcheck.reports import render
from gradcheck.reports.formats.json_lines import begin_line, case_line, end_line, reliable_case_line
from gradcheck.reports.report_schema import report_schema


def test_the_lines_are_the_document(everything: RunResult) -> None:
    first, *cases, last = map(json.loads, render(everything, "json-lines").splitlines())
    assert [one.pop("event") for one in (first, *cases, last)] == ["begin", *["case"] * len(cases), "end"]
    document = {**last, "cases": cases}
    jsonschema.validate(document, report_schema())
    assert document == json.loads(render(everything, "json"))
    assert first == {"schema": document["schema"], "gradcheck": document["gradcheck"]}


def test_what_is_streamed_is_what_is_rendered(everything: RunResult) -> None:
    parts = (begin_line(), *map(reliable_case_line, everything.cases), end_line(everything))
    assert "".join(parts) == render(everything, "json-lines")


def test_a_case_that_cannot_be_told_costs_itself(case: Any, comparison: Any) -> None:
    unspeakable = case("x", "failed", comparisons=(comparison("formula", "x", "failed").with_notes(fact("no_trial")),))
    found = json.loads(reliable_case_line(unspeakable))
    assert (found["status"], found["comparisons"]) == ("failed", [])
    assert "KeyError" in found["incomplete"][0]["message"]
    assert json.loads(case_line(case("y")))["event"] == "case"
