"""GitLab's code quality: what it asks of every entry."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

from gradcheck.checks.result import RunResult
from gradcheck.reports import render

TEXT = {"type": "string", "minLength": 1}
LINES = {
    "type": "object",
    "required": ["begin"],
    "properties": {"begin": {"type": "integer", "minimum": 1}},
    "additionalProperties": False,
}
ENTRY = {
    "type": "object",
    "required": ["description", "check_name", "fingerprint", "location", "severity"],
    "properties": {
        "description": TEXT,
        "check_name": TEXT,
        "fingerprint": TEXT,
        "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
        "location": {"type": "object", "required": ["path", "lines"], "properties": {"path": TEXT, "lines": LINES}},
    },
    "additionalProperties": False,
}


def entries(result: RunResult) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(render(result, "gitlab"))
    jsonschema.validate(found, {"type": "array", "items": ENTRY})
    return found


def test_every_problem_is_an_entry(everything: RunResult) -> None:
    found = entries(everything)
    assert {one["severity"] for one in found} >= {"blocker", "critical", "major", "minor"}
    assert len({one["fingerprint"] for one in found}) == len(found)


def test_where_all_is_well_the_list_is_empty(run: Any, case: Any) -> None:
    assert entries(run(case())) == []
