"""Jacobians and Hessians as people derive them: which claims pass, are proved, fail and are explained?

`derivatives.yaml` holds right ones of robotics, estimation, statistics and networks, and for each some wrong ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from benchmarks.timing import Row
from gradcheck import run
from gradcheck.checks.result import CaseResult
from gradcheck.language.loader import load_text

CLAIMS = Path(__file__).with_name("derivatives.yaml")


def rows() -> Iterator[Row]:
    stated = list(yaml.safe_load_all(CLAIMS.read_text(encoding="utf-8")))
    right = _results([_case(one, None) for one in stated])
    wrong = _results([_case(one, claim) for one in stated for claim in one["wrong"]])
    flagged = [case.name for case in right if case.status != "passed"]
    missed = [case.name for case in wrong if case.status != "failed" or case.errors]
    proved = sum(any(c.certificate for c in case.comparisons) for case in right)
    named = sum(any(c.diagnoses for c in case.comparisons) for case in wrong)
    yield Row(
        "derivatives: right claims flagged", f"{len(flagged)} of {len(right)}", "0", not flagged, _listed(flagged)
    )
    yield Row("derivatives: wrong claims missed", f"{len(missed)} of {len(wrong)}", "0", not missed, _listed(missed))
    yield Row("derivatives: right claims proved", f"{proved} of {len(right)}", ">= 90%", proved >= 0.9 * len(right), "")
    is_kept = named >= 0.85 * len(wrong)
    yield Row(
        "derivatives: wrong claims explained", f"{named} of {len(wrong)}", ">= 85%", is_kept, "a cause or a formula"
    )


def _case(stated: dict[str, Any], claim: str | None) -> dict[str, Any]:
    """Return a case that states the right claim, or a wrong one."""
    section = next(key for key in ("jacobians", "hessians") if key in stated)
    ((of, by),) = stated[section].items()
    case = {key: value for key, value in stated.items() if key != "wrong"}
    if claim is None:
        return case
    name = f"{stated['name']}, wrong {stated['wrong'].index(claim) + 1}"
    return {**case, "name": name, section: {of: dict.fromkeys(by, claim)}}


def _results(cases: list[dict[str, Any]]) -> tuple[CaseResult, ...]:
    loaded, errors = load_text(yaml.safe_dump_all(cases, sort_keys=False), "derivatives.yaml")
    assert not errors, errors
    return run(loaded).cases


def _listed(names: list[str]) -> str:
    return "; ".join(names)
