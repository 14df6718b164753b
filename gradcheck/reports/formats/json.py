"""The run as one JSON document, for programs. Keys are only ever added; a change of meaning raises `schema`.

Numbers that JSON cannot hold are the texts "nan", "inf" and "-inf"; a complex number is
`{"real": …, "imag": …}`. A key whose value is not known is null; a list that is empty is there all the same.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, get_args

from gradcheck import __version__
from gradcheck.checks.result import CaseResult, CaseStatus, Comparison, Diagnosis, Failure, RunResult
from gradcheck.checks.run import lacking
from gradcheck.reports import Look
from gradcheck.reports.phrases import say
from gradcheck.reports.power import power_json

SCHEMA = 1


def render(result: RunResult, look: Look) -> str:
    """The document, a line a case; in ASCII, so that no pipe can spoil it."""
    cases = ",\n".join(_dump(_case(case)) for case in result.cases)
    return f'{_dump(_head(result))[:-1]}, "cases": [\n{cases}\n]}}\n'


def _dump(value: dict[str, Any]) -> str:
    return json.dumps(to_json(value), allow_nan=False)


def _head(result: RunResult) -> dict[str, Any]:
    """All but the cases."""
    summary: dict[str, Any] = {"cases": len(result.cases)}
    summary |= {status: result.count(status) for status in get_args(CaseStatus)}
    summary["seconds"] = result.seconds
    return {
        "schema": SCHEMA,
        "gradcheck": __version__,
        "environment": dict(result.environment),
        "summary": summary,
        "interrupted": result.interrupted,
        "lacking": [
            {"engine": one.engine, "lacks": list(one.words), "unsupported": one.unsupported, "cases": one.cases}
            for one in lacking(result)
        ],
    }


def _case(case: CaseResult) -> dict[str, Any]:
    return {
        "id": case.id,
        "file": case.file,
        "line": case.place.line or None,
        "name": case.name,
        "status": case.status,
        "seconds": case.seconds,
        "seed": case.seed,
        "reproduce": case.reproduce,
        "reason": case.reason,
        "tags": list(case.tags),
        "output": dict(case.output),
        "errors": [_error(error) for error in case.errors],
        "comparisons": [_comparison(comparison) for comparison in case.comparisons],
        **_power(case),
        **_smallest(case),
    }


def _smallest(case: CaseResult) -> dict[str, Any]:
    """The smallest case that fails in the same way, where it was looked for and found."""
    found = case.smallest
    if found is None:
        return {}
    return {
        "smallest": {
            "case": found.case,
            "operations": found.operations,
            "complete": found.complete,
            "file": found.file or None,
            "snippet": found.snippet or None,
        }
    }


def _power(case: CaseResult) -> dict[str, Any]:
    """What planted faults showed, where that was asked for."""
    return {} if case.power is None else {"power": power_json(case.power)}


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
    fields: dict[str, Any] = {
        "what": c.what,
        "tensor": c.tensor,
        "step": c.step,
        "engine": c.engine,
        "reference": c.reference,
        "status": c.status,
        "line": c.place.line or None,
        "column": c.place.column or None,
        "shape": list(c.shape),
        "dtype": c.dtype,
        "max_abs": c.max_abs,
        "max_rel": c.max_rel,
        "max_ulp": c.max_ulp,
        "mismatched": c.mismatched,
        "elements": c.elements,
        "worst_index": None if c.worst_index is None else list(c.worst_index),
        "got": c.got,
        "want": c.want,
        "atol": c.atol,
        "rtol": c.rtol,
        "message": say(c.mismatch),
        "lacks": c.lacks,
        "notes": [say(note) for note in c.notes],
        "trial": _trial(c),
        "verdict": say(c.verdict),
        "certificate": c.certificate,
        "cause": f"{say(c.cause.origin)}: {say(c.cause.what)}" if c.cause else "",
        "consequence_of": say(c.consequence_of),
        "diagnoses": [_diagnosis(found) for found in c.diagnoses],
    }
    return fields | ({"formula": c.formula} if c.formula else {})


def _trial(c: Comparison) -> dict[str, Any] | None:
    if c.trial is None:
        return None
    return {"trial": c.trial.number, "seed": c.trial.seed, "sizes": dict(c.trial.sizes)}


def _diagnosis(found: Diagnosis) -> dict[str, str]:
    """With what there is to say of its kind; where nothing is known, which mistakes were tried."""
    known = {
        "kind": found.kind,
        "message": say(found.message),
        "evidence": say(found.evidence),
        "confidence": found.confidence,
        "formula": found.formula,
    }
    known = {key: text for key, text in known.items() if text}
    if found.kind == "unknown":
        known["tried"] = ", ".join(kind.replace("_", " ") for kind in found.tried)
    return known


def to_json(value: Any) -> Any:
    """NumPy's scalars as Python's, and what JSON has no word for as the module says."""
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
