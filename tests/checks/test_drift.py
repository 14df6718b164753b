"""Agreement that is remembered, and what is told where it has gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from gradcheck.checks.baseline import Baseline
from gradcheck.checks.drift import agreements, drifted_claims
from gradcheck.checks.options import Options
from gradcheck.checks.result import CaseResult, Comparison, RunResult, Subject
from gradcheck.checks.scheduling.run import run
from tests.conftest import WithRules
from tests.from_text import case_of

CASE = "inputs: {x: [1, 2, 3]}\ngraph: {y: exp(x), loss: y.sum()}\nformulas: {x: exp(x)}\n"
ID = "case.yaml::case"


def result(**nears: float | None) -> CaseResult:
    """Claims about values by the names of tensors, and how near they come."""
    claims = tuple(
        Comparison(Subject("value", tensor, engine="core"), "passed", dtype="float64", agreement=near)  # type: ignore[arg-type]
        for tensor, near in nears.items()
    )
    return CaseResult(ID, "case.yaml", "case", "passed", comparisons=claims)


@pytest.mark.parametrize(
    ("known", "now", "tells"),
    [
        ({"value of y by core": 1e-15}, 1e-11, True),
        ({"value of y by core": 1e-15}, 9e-13, False),
        ({"value of y by core": 1e-11}, 1e-15, False),
        ({"value of z by core": 1e-15}, 1e-11, False),  # a claim that is new
        ({}, 1e-11, False),
        ({"value of y by core": 1e-15}, None, False),
    ],
)
def test_three_digits_lost_are_drift(known: Mapping[str, float], now: float | None, tells: bool) -> None:
    assert [one.kind for one in drifted_claims(result(y=now), known)] == ["has_drifted"] * tells


def test_other_numbers_are_no_drift() -> None:
    """Of another dtype, another seed, another reference: nothing is known of these."""
    known = {"value of y by core": 1e-15}
    (plain,) = result(y=1e-11).comparisons
    others = [replace(plain, dtype="float32"), plain.with_subject(reference="hips")]
    assert [drifted_claims(replace(result(), comparisons=(one,)), known) for one in others] == [(), ()]
    assert drifted_claims(replace(result(y=1e-11), seed=3), known) == ()
    assert list(agreements(replace(result(y=1e-11), seed=3), {})) == ["value of y by core at seed 3"]


def test_what_is_written_changes_only_where_something_has() -> None:
    known = {"value of y by core": 1e-12}
    assert agreements(result(y=3e-14, z=2.5e-9), known) == {"value of y by core": 1e-12, "value of z by core": 1e-8}
    assert agreements(result(y=2e-17), known) == {"value of y by core": 1e-16}


def test_an_engine_that_gets_worse_within_the_tolerance_is_noticed(with_rules: WithRules) -> None:
    case = case_of(CASE)
    before = run(case, baseline=Baseline("known.json", measures_drift=True))
    known = Baseline("known.json", measures_drift=True).updated(before, True, lambda file: True)
    assert known.agreement.keys() == {ID}
    assert known.agreement[ID]["formula of x: exp(x)"] <= 1e-14

    with_rules("exp", lambda g, y, x: g * y * (1 + 3e-11))
    told, failed = (run(case, Options(baseline=known, fail_on_drift=strict)) for strict in (False, True))
    assert [one["claim"] for one in told.cases[0].drift] == ["gradient of x by core"]
    assert (told.exit_code, failed.exit_code) == (0, 1)
    assert [error.kind for error in failed.cases[0].errors] == ["drift"]


def test_nothing_is_measured_unless_it_is_asked_for() -> None:
    (plain,) = run(case_of(CASE)).cases
    assert {c.agreement for c in plain.comparisons} == {None}


def test_what_failed_as_known_fails_where_it_drifts_besides() -> None:
    known = Baseline("known.json", agreement={ID: {"value of y by core": 1e-15}})
    found = replace(result(y=1e-11), status="xfailed")
    assert known.apply_to(found, fail_on_drift=True).status == "failed"
    assert known.apply_to(found).status == "xfailed"
    assert RunResult((known.apply_to(found),), 0.0, {}).exit_code == 0
