"""The run as one JSON document. Keys are only added.

A change of meaning raises `schema`. Numbers that JSON cannot hold are the texts "nan", "inf" and "-inf"; a complex
number is `{"real": …, "imag": …}`. An unknown value is null; an empty list is written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, get_args

from gradcheck import __version__
from gradcheck.checks.result import CaseResult, CaseStatus, Comparison, Diagnosis, Failure, RunResult
from gradcheck.checks.unsupported_features import unsupported_features
from gradcheck.reports import Look
from gradcheck.reports.phrases import comparison_text as sentences
from gradcheck.reports.phrases import say
from gradcheck.reports.safe_text import format_place, plain
from gradcheck.reports.source_lines import SourceLocation, location_of_claim, relative_to_cwd

SCHEMA = 1


def render(result: RunResult, look: Look) -> str:
    """Return the document, a line a case; in ASCII, so that any pipe takes it."""
    cases = ",\n".join(dump(case_record(case)) for case in result.cases)
    return f'{dump(run_record(result))[:-1]}, "cases": [\n{cases}\n]}}\n'


def dump(value: dict[str, Any]) -> str:
    """Return the value on one line, in ASCII."""
    return json.dumps(to_json(value), allow_nan=False)


def run_record(result: RunResult) -> dict[str, Any]:
    """Return the keys of the document, without the cases."""
    summary: dict[str, Any] = {"cases": len(result.cases)}
    summary |= {status: result.count(status) for status in get_args(CaseStatus)}
    summary["reference_wrong"] = sum(bool(case.wrong_references) for case in result.cases)
    summary["cached"] = result.cached
    summary["seconds"] = result.seconds
    return {
        "schema": SCHEMA,
        "gradcheck": __version__,
        "environment": result.environment,
        "summary": summary,
        **_fields(result, "interrupted", "selected"),
        "lacking": [
            {"engine": one.engine, "lacks": one.features, **_fields(one, "unsupported", "cases", "unlocks")}
            for one in unsupported_features(result)
        ],
    }


def _fields(of: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(of, name) for name in names}


def case_record(case: CaseResult) -> dict[str, Any]:
    """Return the keys of a case."""
    return {
        **_fields(case, "id", "file"),
        "line": case.place.line or None,
        **_fields(case, "name", "status", "cached", "seconds", "seed", "reproduce", "reason", "tags", "output"),
        "warnings": [plain(say(warning)) for warning in case.warnings],
        "errors": [_error(error) for error in case.errors],
        "comparisons": [_comparison(comparison) for comparison in case.comparisons],
        **({"incomplete": [_error(error) for error in case.incomplete]} if case.incomplete else {}),
        **({"drift": [dict(one.data) for one in case.drift]} if case.drift else {}),
        **({"known": say(case.known)} if case.known is not None else {}),
        **_mutation_score_record(case),
        **_smallest(case),
    }


def _smallest(case: CaseResult) -> dict[str, Any]:
    found = case.smallest
    if found is None:
        return {}
    about = _fields(found, "case", "operations", "complete")
    return {"smallest": about | {"file": found.file or None, "snippet": found.snippet or None}}


def _mutation_score_record(case: CaseResult) -> dict[str, Any]:
    if case.power is None:
        return {}
    return {
        "power": {
            "planted": len(case.power.mutants),
            "caught": case.power.caught,
            "equivalent": case.power.equivalent,
            "vacuous": case.power.is_vacuous,
            "smallest": case.power.smallest_seen_error,
            "survivors": [{"kind": say(one.kind), "where": say(one.where)} for one in case.power.survivors],
        }
    }


def _error(error: Failure) -> dict[str, Any]:
    return {
        "kind": error.kind,
        "message": say(error.message),
        "line": error.place.line or None,
        "column": error.place.column or None,
        "hint": error.hint,
        "details": error.details,
    }


def _comparison(c: Comparison) -> dict[str, Any]:
    found: dict[str, Any] = {
        **_fields(c, "what", "tensor", "step", "engine", "reference", "status"),
        **_where(c),
        **_fields(c, "shape", "dtype", "max_abs", "max_rel", "max_ulp", "mismatched", "elements", "worst_index"),
        **_fields(c, "got", "want", "atol", "rtol"),
        "message": say(c.mismatch),
        "lacks": "" if c.reference_lacks else c.lacks,
        "notes": [say(note) for note in c.notes],
        "trial": None if c.trial is None else {"trial": c.trial.number, **_fields(c.trial, "seed", "sizes")},
        "verdict": say(c.verdict),
        "reference_wrong": c.passes_by_wrong_reference,
        "certificate": c.certificate,
        "cause": sentences.cause_text(c),
        "code": format_place(relative_to_cwd(c.code)) if c.code is not None else None,
        "consequence_of": say(c.consequence_of),
        "diagnoses": [_diagnosis(found) for found in c.diagnoses],
    }
    return found | ({"formula": c.formula} if c.formula else {})


def _where(c: Comparison) -> dict[str, Any]:
    """Return the place of a failure, or where a passed claim begins."""
    found = location_of_claim(c) if c.is_failing else SourceLocation(c.place)
    line, column = found.place.line or None, found.place.column or None
    return {"line": line, "column": column, "end_column": column + found.length if column and found.length else None}


def _diagnosis(found: Diagnosis) -> dict[str, str]:
    """Return the non-empty keys of a diagnosis; of "unknown", what was tried."""
    known = {
        "kind": found.kind,
        "message": say(found.message),
        "evidence": say(found.evidence),
        "confidence": found.confidence,
        "formula": found.formula,
        "replacement": found.edit.text if found.edit is not None else "",
    }
    known = {key: text for key, text in known.items() if text}
    if found.kind == "unknown":
        known["tried"] = ", ".join(kind.replace("_", " ") for kind in found.tried)
    return known


def to_json(value: Any) -> Any:
    """Return a value that JSON can hold. Raises TypeError."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, complex):
        return {"real": to_json(value.real), "imag": to_json(value.imag)}
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a {type(value).__name__} cannot stand in a JSON report")
