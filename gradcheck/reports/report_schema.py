"""The JSON Schema (draft-07) of the JSON report: every key and its values."""

from __future__ import annotations

from typing import Any, get_args

from gradcheck.checks.result import CaseStatus, Status
from gradcheck.language.claim_kind import ClaimKind

_TEXT, _WHOLE, _FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
_COUNT = {"type": "integer", "minimum": 0}
#: A number, or a text for NaN and infinities.
_NUMBER = {"anyOf": [{"type": "number"}, {"enum": ["nan", "inf", "-inf"]}]}
_VALUE = {"anyOf": [*_NUMBER["anyOf"], {"$ref": "#/definitions/complex"}, {"type": "null"}]}


def _of(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """Return an object with all of the required keys, and no others but these."""
    properties = {**required, **optional}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _map(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


_LINE = _or_null({"type": "integer", "minimum": 1})
_ERROR = _of({"kind": _TEXT, "message": _TEXT, "line": _LINE, "column": _LINE, "hint": _TEXT, "details": _TEXT})
_TRIAL = _of({"trial": _COUNT, "seed": _WHOLE, "sizes": _map(_WHOLE)})
_DIAGNOSIS = _of(
    {"kind": _TEXT, "message": _TEXT},
    **dict.fromkeys(("evidence", "confidence", "formula", "replacement", "tried"), _TEXT),
)
_COMPARISON = _of(
    {
        "what": {"enum": [str(kind) for kind in ClaimKind]},
        "tensor": _TEXT,
        "step": _COUNT,
        **dict.fromkeys(("engine", "reference"), _TEXT),
        "status": {"enum": list(get_args(Status))},
        **dict.fromkeys(("line", "column", "end_column"), _LINE),
        "shape": _list(_COUNT),
        "dtype": _TEXT,
        **dict.fromkeys(("max_abs", "max_rel", "max_ulp"), _or_null(_NUMBER)),
        **dict.fromkeys(("mismatched", "elements"), _COUNT),
        "worst_index": _or_null(_list(_COUNT)),
        **dict.fromkeys(("got", "want"), _VALUE),
        **dict.fromkeys(("atol", "rtol"), _or_null(_NUMBER)),
        **dict.fromkeys(("message", "lacks"), _TEXT),
        "notes": _list(_TEXT),
        "trial": _or_null(_TRIAL),
        "verdict": _TEXT,
        "reference_wrong": _FLAG,
        "certificate": _or_null({"type": "object"}),
        "cause": _TEXT,
        "code": _or_null(_TEXT),
        "consequence_of": _TEXT,
        "diagnoses": _list(_DIAGNOSIS),
    },
    formula=_TEXT,
)
_POWER = _of(
    {
        **dict.fromkeys(("planted", "caught", "equivalent"), _COUNT),
        "vacuous": _FLAG,
        "smallest": _map(_or_null(_NUMBER)),
        "survivors": _list(_of({"kind": _TEXT, "where": _TEXT})),
    }
)
_SMALLEST = _of(
    {"case": _TEXT, "operations": _COUNT, "complete": _FLAG, "file": _or_null(_TEXT), "snippet": _or_null(_TEXT)}
)
_CASE = _of(
    {
        **dict.fromkeys(("id", "file"), _TEXT),
        "line": _LINE,
        "name": _TEXT,
        "status": {"enum": list(get_args(CaseStatus))},
        "cached": _FLAG,
        "seconds": {"type": "number", "minimum": 0},
        "seed": _WHOLE,
        **dict.fromkeys(("reproduce", "reason"), _TEXT),
        "tags": _list(_TEXT),
        "output": _map(_TEXT),
        "warnings": _list(_TEXT),
        "errors": _list(_ERROR),
        "comparisons": _list(_COMPARISON),
    },
    incomplete=_list(_ERROR),
    known=_TEXT,
    drift=_list(_of({"claim": _TEXT, "was": _NUMBER, "now": _NUMBER})),
    power=_POWER,
    smallest=_SMALLEST,
)
_LACKING = _of(
    {"engine": _TEXT, "lacks": _list(_TEXT), "unsupported": _COUNT, "cases": _COUNT, "unlocks": _map(_COUNT)}
)
_SUMMARY = ("cases", *get_args(CaseStatus), "reference_wrong", "cached")


def report_schema() -> dict[str, Any]:
    """Return the schema that `gradcheck schema --report` prints."""
    whole = _of(
        {
            "schema": {"const": 1},
            "gradcheck": _TEXT,
            "environment": _map(_TEXT),
            "summary": _of({**dict.fromkeys(_SUMMARY, _COUNT), "seconds": {"type": "number", "minimum": 0}}),
            "interrupted": _FLAG,
            "selected": _COUNT,
            "lacking": _list(_LACKING),
            "cases": _list(_CASE),
        }
    )
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "a report of gradcheck",
        **whole,
        "definitions": {"complex": _of({"real": _NUMBER, "imag": _NUMBER})},
    }
