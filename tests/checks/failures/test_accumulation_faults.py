"""Gradients that are put together wrongly, or not cleared, are one cause of all that follows."""

from __future__ import annotations

from typing import Any

from gradcheck import run
from gradcheck.checks.result import CaseResult
from gradcheck.engines.resolve import adapt
from gradcheck.facts import fact
from gradcheck.language.loader import load_text
from tests.engines.dialects import diseases, sound

_AGAIN = (
    "inputs: {a: [1, 2], b: [3, 4]}\ngraph: {p: a * b, q: p * a}\n"
    "steps: [{backward: {q: [1, 2]}}, {zero_grad: all}, {backward: {q: [1, 2]}}]\n"
)


def judged(disease: str, text: str) -> CaseResult:
    cases, errors = load_text(text, "case.yaml")
    assert not errors
    kind: Any = type("Sick", (getattr(diseases, disease), sound.Tensor), {})
    return run(cases, engines=[adapt(kind, "mine")], trials=1, oracle="none").cases[0]


def test_what_is_not_cleared_is_one_cause_of_all_that_comes_later() -> None:
    found = judged("ClearsNothing", _AGAIN)
    (cause,) = [c for c in found.comparisons if c.cause]
    assert cause.cause is not None
    assert (cause.cause.origin, cause.cause.what.kind) == (fact("outcome_of_step", number=2), "not_cleared")
    assert [d.kind for d in cause.diagnoses] == ["stale"]
    rest = [c for c in found.comparisons if c.status == "failed" and c is not cause]
    assert {c.step for c in rest} == {1, 2}
    assert {c.consequence_of for c in rest} == {cause.cause.origin}
