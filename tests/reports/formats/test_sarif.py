"""SARIF: held against what its schema says of the parts that are used, with columns, fixes and lasting fingerprints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gradcheck.checks.result import RunResult
from gradcheck.checks.scheduling.run import run
from gradcheck.reports import render


def of(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    known = {**required, **optional}
    return {"type": "object", "properties": known, "required": list(required), "additionalProperties": False}


POSITIVE, TEXT = {"type": "integer", "minimum": 1}, {"type": "string"}
REGION = of({"startLine": POSITIVE}, startColumn=POSITIVE, endLine=POSITIVE, endColumn=POSITIVE)
ARTIFACT = of({"uri": {"type": "string", "pattern": r"^[\w./%~-]*$"}, "uriBaseId": TEXT})
MESSAGE = of({"text": TEXT})
CHANGE = of(
    {
        "artifactLocation": ARTIFACT,
        "replacements": {
            "type": "array",
            "minItems": 1,
            "items": of({"deletedRegion": REGION, "insertedContent": MESSAGE}),
        },
    }
)
RESULT = of(
    {
        "ruleId": TEXT,
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": MESSAGE,
        "locations": {
            "type": "array",
            "items": of({"physicalLocation": of({"artifactLocation": ARTIFACT}, region=REGION)}),
        },
        "partialFingerprints": {"type": "object", "additionalProperties": TEXT},
    },
    fixes={"type": "array", "items": of({"artifactChanges": {"type": "array", "items": CHANGE}}, description=MESSAGE)},
)
RULES = {
    "type": "array",
    "uniqueItems": True,
    "items": of({"id": TEXT, "name": TEXT, "shortDescription": MESSAGE}, help=MESSAGE),
}
RUN = of(
    {"tool": of({"driver": of({"name": TEXT, "version": TEXT, "semanticVersion": TEXT, "rules": RULES})})},
    invocations={"type": "array", "items": of({"executionSuccessful": {"type": "boolean"}}, exitCode={})},
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results={"type": "array", "items": RESULT},
)
LOG = of({"version": {"const": "2.1.0"}, "runs": {"type": "array", "items": RUN}}, **{"$schema": TEXT})
WRONG = """\
inputs: {x: [1, 2, 3]}
graph:
  loss: (x * x).sum()
formulas:
  x: 3 * x
"""


def results(result: RunResult) -> list[dict[str, Any]]:
    log = json.loads(render(result, "sarif"))
    jsonschema.validate(log, LOG)
    (found,) = log["runs"]
    rules = {rule["id"]: rule for rule in found["tool"]["driver"]["rules"]}
    assert {one["ruleId"] for one in found["results"]} == rules.keys()
    assert (rules["formula"]["name"], "derived by hand" in rules["formula"]["help"]["text"]) == ("Formula", True)
    return list(found["results"])


def test_every_problem_is_a_result_at_its_place(everything: RunResult) -> None:
    found = results(everything)
    where = found[1]["locations"][0]["physicalLocation"]
    assert where["artifactLocation"]["uri"] == "cases/chain.yaml"
    assert {"formula", "gradient", "invalid", "timeout", "xpassed"} <= {one["ruleId"] for one in found}
    prints = [one["partialFingerprints"]["gradcheck/v1"] for one in found]
    assert len(set(prints)) == len(prints)


@pytest.fixture
def wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("wrong ünd.yaml")
    path.write_text(WRONG, encoding="utf-8")
    return path


def test_a_correction_is_a_fix(wrong: Path) -> None:
    (found,) = results(run(wrong))
    region = {"startLine": 5, "startColumn": 6, "endLine": 5, "endColumn": 7}
    assert found["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "wrong%20%C3%BCnd.yaml", "uriBaseId": "%SRCROOT%"}, "region": region,
    }  # fmt: skip
    (change,) = found["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [{"deletedRegion": region, "insertedContent": {"text": "2"}}]


def test_a_fix_of_a_file_that_has_changed_since_is_none(wrong: Path) -> None:
    result = run(wrong)
    wrong.write_text(WRONG.replace("x: 3 * x", "x: x * 3 + 0"), encoding="utf-8")
    (found,) = results(result)
    assert "fixes" not in found


def test_a_problem_keeps_its_fingerprint_when_lines_and_numbers_change(wrong: Path) -> None:
    (before,) = results(run(wrong))
    wrong.write_text("# a comment\n" + WRONG.replace("3 * x", "5 * x"), encoding="utf-8")
    (after,) = results(run(wrong))
    assert after["partialFingerprints"] == before["partialFingerprints"]
    assert after["message"] != before["message"]


def test_no_name_of_a_case_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(WRONG + "name: '[here](https://example.org)'\n")
    log = json.loads(render(run(tmp_path / "a.yaml", reference="core"), "sarif"))
    texts = [one["message"]["text"] for one in log["runs"][0]["results"]]
    assert [text.partition(": ")[0] for text in texts] == ["[here] (https://example.org)"]
