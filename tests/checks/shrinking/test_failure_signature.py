"""In which way a case fails: told by kinds of claims, facts and ops, never by a sentence; and what is left to say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.result import CaseResult, Cause, Comparison, Diagnosis, Failure, Subject, Trial
from gradcheck.checks.shrinking.failure_signature import (
    FailureSignature,
    causes_of,
    main_failure_of,
    signature_of,
    without_other_claims,
)
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind
from tests.checks.conftest import Check
from tests.conftest import WithRules
from tests.from_text import case_of

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
    assert main_failure_of(result(formula, expected, gradient)) is gradient
    assert main_failure_of(result(formula, gradient, value)) is value
    elsewhere = failed(ClaimKind.GRADIENT, trial=TRIAL)
    assert main_failure_of(result(expected, elsewhere)) is elsewhere


def test_the_own_numbers_come_before_those_of_trials() -> None:
    own, trial = failed(ClaimKind.FORMULA), failed(ClaimKind.FORMULA, trial=TRIAL)
    assert main_failure_of(result(trial, own)) is own


def test_what_a_case_file_alone_does_not_ask_for_leads_nowhere() -> None:
    assert signature_of(result(failed(ClaimKind.GRADIENT2))) is None


def test_a_claim_is_told_by_tensor_and_text_an_engine_by_name_alone() -> None:
    claim = signature_of(result(failed(ClaimKind.FORMULA, formula="2 * x")))
    assert claim == FailureSignature(ClaimKind.FORMULA, ("numbers",), "mine", "x", "2 * x")
    assert claim is not None
    assert claim.is_claim
    engine = signature_of(result(failed(ClaimKind.GRADIENT)))
    assert engine == FailureSignature(ClaimKind.GRADIENT, ("numbers",), "mine")
    assert engine is not None
    assert not engine.is_claim


def how(mismatch: Fact) -> tuple[str, ...]:
    found = signature_of(result(failed(ClaimKind.GRADIENT, mismatch)))
    assert found is not None
    return found.details


def test_differences_are_told_by_their_kinds_whatever_they_say() -> None:
    assert how(fact("shapes_differ", got=(2,), want=(3,))) == how(fact("shapes_differ", got=(5,), want=(1,)))
    assert how(fact("shapes_differ", got=(2,), want=(3,))) != how(fact("dtypes_differ", got="a", want="b"))
    assert how(fact("not_at_other_numbers")) == ("numbers",)


def test_errors_are_told_by_their_kinds_and_not_by_what_they_said() -> None:
    def raised(kind: str, text: str) -> Fact:
        return fact("not_as_asked", engine="mine", came=fact("raised", error=kind, text=text), step=1, asked=None)

    assert how(raised("shape_mismatch", "[2] and [3]")) == how(raised("shape_mismatch", "[4] and [5]"))
    assert how(raised("shape_mismatch", "")) != how(raised("domain_error", ""))
    assert how(fact("claim_raised", error="e", text="x is [2]")) == how(
        fact("claim_raised", error="e", text="x is [3]")
    )


@pytest.mark.parametrize("kind", ["timeout", "memory"])
def test_what_cannot_be_tried_again_has_none(kind: str) -> None:
    assert signature_of(result(status="crashed", errors=(Failure(kind, fact("said", text="")),))) is None


def test_a_crash_is_told_by_its_exception() -> None:
    def crash(error: str, text: str) -> FailureSignature | None:
        return signature_of(
            result(status="crashed", errors=(Failure("crash", fact("crashed", error=error, text=text)),))
        )

    assert crash("KeyError", "'a'") == crash("KeyError", "'b'") == FailureSignature(None, ("crash", "KeyError"))
    assert crash("KeyError", "'a'") != crash("ValueError", "'a'")


def test_a_wrong_rule_is_told_by_its_op(check: Check, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * (1 - y))
    texts = ("{inputs: {x: [1, 2]}, graph: {y: tanh(x) * 2, z: y.sum()}}", "{inputs: {a: 3}, graph: {b: tanh(a)}}")
    first, second = (signature_of(check(text)) for text in texts)
    assert first == second == FailureSignature(ClaimKind.NODE, ("tanh",), "core")


def test_an_array_is_not_looked_at() -> None:
    mask = np.array([True])
    found = Comparison(Subject(ClaimKind.VALUE, "x"), "failed", mask=mask)
    assert signature_of(result(found)) == FailureSignature(ClaimKind.VALUE, ("numbers",))


# What is left of the case -----------------------------------------------------------------------------

CLAIMS = """
    description: all kinds of claims
    tags: [a]
    xfail: known
    dims: {n: 2}
    inputs: {x: "randn(n)"}
    graph: {y: x * x, loss: y.sum()}
    steps:
      - {backward: loss, values: {loss: 1}, checks: [y >= 0], expected: {y: [1, 1]}}
    values: {y: [0, 0]}
    expected: {x: [0, 0]}
    let: {g: 2 * x}
    formulas: {x: [g, 2 * x]}
    wrong_formulas: {x: 3 * x}
    checks: [y == x * x, y >= 0]
    tolerance: {rtol: 0.1}
"""


def test_where_an_engine_fails_nothing_is_claimed() -> None:
    left = without_other_claims(case_of(CLAIMS), FailureSignature(ClaimKind.GRADIENT, ("numbers",), "core"))
    (step,) = left.steps
    said = [left.values, left.expected, left.formulas, left.wrong_formulas, left.checks, left.let, left.tolerance]
    said += [left.tags, left.description, left.xfail, step.values, step.expected, step.checks]
    assert not any(said)


def test_of_claims_the_one_that_fails_is_kept_with_its_tolerance() -> None:
    case = case_of(CLAIMS)
    left = without_other_claims(case, FailureSignature(ClaimKind.FORMULA, (), "case", "x", "2 * x"))
    assert [claim.text for claim in left.formulas["x"]] == ["2 * x"]
    assert not any([left.wrong_formulas, left.checks, left.expected, left.values])
    assert (left.tolerance, left.let) == (case.tolerance, case.let)
    wrong = without_other_claims(case, FailureSignature(ClaimKind.WRONG_FORMULA, (), "case", "x", "3 * x"))
    assert (list(wrong.wrong_formulas), dict(wrong.formulas)) == (["x"], {})


def test_checks_and_known_numbers_are_kept_where_they_stand() -> None:
    case = case_of(CLAIMS)
    check = without_other_claims(case, FailureSignature(ClaimKind.CHECK, (), "case", "", "y >= 0"))
    assert [claim.text for claim in check.checks] == ["y >= 0"]
    assert [claim.text for claim in check.steps[0].checks] == ["y >= 0"]
    value = without_other_claims(case, FailureSignature(ClaimKind.EXPECTED_VALUE, (), "core", "loss"))
    assert (dict(value.values), list(value.steps[0].values), dict(value.expected)) == ({}, ["loss"], {})
    expected = without_other_claims(case, FailureSignature(ClaimKind.EXPECTED, (), "core", "x"))
    assert (list(expected.expected), dict(expected.steps[0].expected)) == (["x"], {})


def test_that_numbers_vary_goes_without_saying() -> None:
    case = case_of("{inputs: {x: [1, 2]}, graph: {y: x.sum()}, formulas: {x: 2 * x}, generalize: false}")
    assert case.generalize is None
    assert (
        without_other_claims(case, FailureSignature(ClaimKind.FORMULA, (), "case", "x", "2 * x")).generalize is not None
    )
    assert without_other_claims(case, FailureSignature(ClaimKind.GRADIENT, (), "core")).generalize is None


def test_what_an_op_finds_fault_with_is_told_whatever_the_sizes() -> None:
    def raised(text: str) -> FailureSignature | None:
        message = fact("in_engines", what=fact("forward_raised", entry="Z", text=text), engines=("core",))
        return signature_of(result(errors=(Failure("shape_mismatch", message),)))

    assert raised("matmul of 4x3 and 5x4") == raised("matmul of 1x2 and 1x1")
    assert raised("matmul of 4x3 and 5x4") != raised("cross_entropy of 4 and 5")


def test_a_step_of_a_derivation_claims_nothing_by_itself() -> None:
    step = replace(failed(ClaimKind.FORMULA), cause=Cause(fact("step", name="dZ"), fact("step_is_wrong")))
    formula = failed(ClaimKind.FORMULA, trial=TRIAL)
    assert main_failure_of(result(step, formula)) is formula


def test_mistakes_that_are_known_are_told_by_their_kinds() -> None:
    known = Diagnosis("sign", fact("wrong_sign"), "confirmed")
    meant = Diagnosis("did_you_mean", fact("did_you_mean", formula="x"))
    assert causes_of(result(replace(failed(ClaimKind.FORMULA), diagnoses=(known, meant)))) == {"sign"}
    assert causes_of(result(failed(ClaimKind.FORMULA))) == frozenset()


def test_what_ends_a_process_is_not_repeated() -> None:
    """The process that shrinks would end as well, with the results of all other cases."""
    ended = Failure("crash", fact("process_ended", text="by the signal SIGSEGV"))
    assert signature_of(result(status="crashed", errors=(ended,))) is None
