"""In which way a case fails: told by kinds of claims, facts and ops, never by a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.checks.result import CaseResult, ClaimKind, Comparison, Failure, Subject, Trial
from gradcheck.checks.shrinking.failure_signature import Signature, lead_of, signature_of
from gradcheck.facts import Fact, fact
from tests.checks.conftest import Check
from tests.conftest import WithRules

TRIAL = Trial(1, 0, {})


def failed(what: ClaimKind, mismatch: Fact | None = None, **about: Any) -> Comparison:
    return Subject(what, "x", engine="mine", **about).failed(mismatch)


def result(*comparisons: Comparison, status: Any = "failed", errors: tuple[Failure, ...] = ()) -> CaseResult:
    return CaseResult("", "", "", status, comparisons=comparisons, errors=errors)


@pytest.mark.parametrize("status", ["passed", "xfailed", "skipped", "invalid", "unsupported"])
def test_only_failures_have_one(status: str) -> None:
    assert signature_of(result(failed(ClaimKind.GRADIENT), status=status)) is None


def test_causes_come_before_consequences() -> None:
    formula, gradient = failed(ClaimKind.FORMULA), failed(ClaimKind.GRADIENT)
    value, expected = failed(ClaimKind.VALUE), failed(ClaimKind.EXPECTED)
    assert lead_of(result(formula, expected, gradient)) is gradient
    assert lead_of(result(formula, gradient, value)) is value
    elsewhere = failed(ClaimKind.GRADIENT, trial=TRIAL)
    assert lead_of(result(expected, elsewhere)) is elsewhere


def test_the_own_numbers_come_before_those_of_trials() -> None:
    own, trial = failed(ClaimKind.FORMULA), failed(ClaimKind.FORMULA, trial=TRIAL)
    assert lead_of(result(trial, own)) is own


def test_what_a_case_file_alone_does_not_ask_for_leads_nowhere() -> None:
    assert signature_of(result(failed(ClaimKind.GRADIENT2))) is None


def test_a_claim_is_told_by_tensor_and_text_an_engine_by_name_alone() -> None:
    claim = signature_of(result(failed(ClaimKind.FORMULA, formula="2 * x")))
    assert claim == Signature(ClaimKind.FORMULA, ("numbers",), "mine", "x", "2 * x")
    assert claim is not None
    assert claim.is_claim
    engine = signature_of(result(failed(ClaimKind.GRADIENT)))
    assert engine == Signature(ClaimKind.GRADIENT, ("numbers",), "mine")
    assert engine is not None
    assert not engine.is_claim


def how(mismatch: Fact) -> tuple[str, ...]:
    found = signature_of(result(failed(ClaimKind.GRADIENT, mismatch)))
    assert found is not None
    return found.how


def test_differences_are_told_by_their_kinds_whatever_they_say() -> None:
    assert how(fact("shapes_differ", got=(2,), want=(3,))) == how(fact("shapes_differ", got=(5,), want=(1,)))
    assert how(fact("shapes_differ", got=(2,), want=(3,))) != how(fact("dtypes_differ", got="a", want="b"))
    assert how(fact("not_at_other_numbers")) == ("numbers",)


def test_errors_are_told_by_their_kinds_and_not_by_what_they_said() -> None:
    def raised(kind: str, text: str) -> Fact:
        return fact("not_as_asked", engine="mine", came=fact("raised", error=kind, text=text), step=1, asked=None)

    assert how(raised("shape_mismatch", "[2] and [3]")) == how(raised("shape_mismatch", "[4] and [5]"))
    assert how(raised("shape_mismatch", "")) != how(raised("domain_error", ""))
    assert how(fact("cannot_be_computed", error="x is [2]")) == how(fact("cannot_be_computed", error="x is [3]"))


@pytest.mark.parametrize("kind", ["timeout", "memory"])
def test_what_cannot_be_tried_again_has_none(kind: str) -> None:
    assert signature_of(result(status="crashed", errors=(Failure(kind, fact("said", text="")),))) is None


def test_a_crash_is_told_by_its_exception() -> None:
    def crash(error: str, text: str) -> Signature | None:
        return signature_of(
            result(status="crashed", errors=(Failure("crash", fact("crashed", error=error, text=text)),))
        )

    assert crash("KeyError", "'a'") == crash("KeyError", "'b'") == Signature(None, ("crash", "KeyError"))
    assert crash("KeyError", "'a'") != crash("ValueError", "'a'")


def test_a_wrong_rule_is_told_by_its_op(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * (1 - y))
    texts = ("{inputs: {x: [1, 2]}, graph: {y: tanh(x) * 2, z: y.sum()}}", "{inputs: {a: 3}, graph: {b: tanh(a)}}")
    first, second = (signature_of(check(text)) for text in texts)
    assert first == second == Signature(ClaimKind.NODE, ("tanh",), "core")


def test_an_array_is_not_looked_at() -> None:
    mask = np.array([True])
    found = Comparison(Subject(ClaimKind.VALUE, "x"), "failed", mask=mask)
    assert signature_of(result(found)) == Signature(ClaimKind.VALUE, ("numbers",))
