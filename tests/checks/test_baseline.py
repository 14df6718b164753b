"""A baseline applied to results, updated by them, and the drift that it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from gradcheck.checks.baseline import Baseline, KnownClaim, agreements, drifted_claims, failing_claims
from gradcheck.checks.options import Options
from gradcheck.checks.result import CaseResult, Comparison, Failure, RunResult, Subject
from gradcheck.checks.scheduling.run import run
from gradcheck.engines.tensor_class.user_code_guard import CodeError, EndlessRecursion, EngineError
from gradcheck.errors import TensorError
from gradcheck.facts import fact
from gradcheck.language.case import XFAIL_ERRORS
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.loader.model import ErrorKind
from gradcheck.reports import FORMATS, Look, render
from tests.conftest import WithRules
from tests.engines.implementation.build import with_code
from tests.from_text import case_of

ID = "a.yaml::b"


def claim(what: Any, tensor: str, status: Any = "failed", engine: str = "case", formula: str = "") -> Comparison:
    return Comparison(Subject(what, tensor, engine=engine, formula=formula), status)


def result(*comparisons: Comparison, status: Any = "failed", **fields: Any) -> CaseResult:
    return CaseResult(ID, "a.yaml", "b", status, comparisons=comparisons, **fields)


def known(*claims: KnownClaim) -> Baseline:
    return Baseline("known.json", {ID: frozenset(claims)})


X, Y = KnownClaim("formula", "x", engine="case"), KnownClaim("formula", "y", engine="case")


@pytest.mark.parametrize(
    ("baseline", "found", "status"),
    [
        (known(X), result(claim("formula", "x")), "xfailed"),
        (known(X, Y), result(claim("formula", "x"), claim("formula", "y", "undecided")), "xfailed"),
        (known(X), result(claim("formula", "x"), claim("formula", "y")), "failed"),
        (known(X), result(claim("formula", "x", formula="2 * x")), "failed"),
        (known(X, Y), result(claim("formula", "x"), claim("formula", "y", "passed")), "xpassed"),
        (known(X), result(claim("formula", "x", "passed"), status="passed"), "xpassed"),
        (known(X), result(status="skipped"), "skipped"),
        (known(X), result(claim("formula", "x"), status="xfailed"), "xfailed"),
        (Baseline("known.json"), result(claim("formula", "x")), "failed"),
    ],
)
def test_new_claims_fail_and_so_do_those_that_hold(baseline: Baseline, found: CaseResult, status: str) -> None:
    assert baseline.apply_to(found).status == status


def test_an_engine_that_is_not_asked_may_stay() -> None:
    mine = known(KnownClaim("gradient", "x", engine="mine"))
    asked, other = claim("gradient", "x", "passed", "mine"), claim("gradient", "x", "passed", "core")
    assert mine.apply_to(result(other, status="passed")).status == "passed"
    assert mine.apply_to(result(asked, status="passed")).status == "xpassed"


def test_errors_are_known_by_their_kind_and_mistakes_by_their_text() -> None:
    def broken(kind: str, text: str, status: Any) -> CaseResult:
        return result(status=status, errors=(Failure(kind, fact("said", text=text)),))

    assert failing_claims(broken("crash", "at 0x7f12", "crashed")) == {KnownClaim("crash")}
    assert failing_claims(broken("invalid", "no graph", "invalid")) == {KnownClaim("invalid", formula="no graph")}
    assert known(KnownClaim("crash")).apply_to(broken("timeout", "", "crashed")).status == "crashed"
    assert failing_claims(result()) == {KnownClaim("failed")}


def test_what_ran_is_written_anew_and_what_did_not_may_stay() -> None:
    ran = RunResult((result(claim("formula", "y")), replace(result(status="passed"), id="a.yaml::c")), 0.0, {})
    before = Baseline("k", {ID: frozenset({X}), "a.yaml::c": frozenset({X}), "o": frozenset({X}), "p": frozenset({X})})
    assert before.updated(ran, False, lambda file: file == "o").claims == {"o": {X}, ID: {Y}}
    several = Baseline("k", {f"{file}.yaml::c": frozenset({X}) for file in ("a", "o", "lost")})
    assert several.vanished_cases(ran, lambda file: file != "lost.yaml") == ["lost.yaml::c"]
    gone = Baseline("k", {"a.yaml::gone": frozenset({X}), "o.yaml::c": frozenset({X})})
    assert gone.vanished_cases(ran, lambda file: True) == ["a.yaml::gone"]


def test_a_case_is_called_as_it_is_seen_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path / "real" / "sub")
    for baseline, file, key in (
        ("known.json", "a.yaml", "a.yaml"),
        ("known.json", "x/a.yaml", "x/a.yaml"),
        ("../known.json", "a.yaml", "sub/a.yaml"),
        ("../known.json", str(tmp_path / "link" / "sub" / "a.yaml"), "sub/a.yaml"),
        (str(tmp_path / "link" / "known.json"), "../b/a.yaml", "b/a.yaml"),
        ("known.json", "./-a.yaml", "./-a.yaml"),
        ("../known.json", "../-b/a.yaml", "./-b/a.yaml"),
    ):
        assert Baseline(baseline).key(f"{file}::n::m") == f"{key}::n::m", (baseline, file)


def test_a_run_does_not_stop_for_what_is_known() -> None:
    text = "name: n{n}\ninputs: {{x: [1, 2]}}\ngraph: {{y: (x * x).sum()}}\nformulas: {{x: {n} * x}}"
    cases = [case_of(text.format(n=n)) for n in (3, 2, 4)]
    first = run(cases)
    known = Baseline("k").updated(RunResult(first.cases[:1], 0.0, {}), True, lambda file: True)
    again = run(cases, Options(baseline=known, maxfail=1))
    assert [case.status for case in again.cases] == ["xfailed", "passed", "failed"]
    assert again.exit_code == 1


def test_a_case_whose_code_may_not_run_is_no_known_failure_and_stays_what_it_was() -> None:
    text = 'inputs: {x: [1, 2]}\ngraph: {y: x * x}\nbackward: {y: [1, 1]}\nimplementations: {y: "operator:pos"}'
    case = case_of(text)
    id = Baseline("k").key(case.id)
    held_back = run(case)
    assert held_back.cases[0].status == "invalid"
    assert Baseline("k").updated(held_back, True, lambda file: True).claims == {}
    before = Baseline("k", {id: frozenset({X})})
    assert before.updated(held_back, True, lambda file: True).claims == {id: {X}}
    assert before.updated(run(case, allow_code=True), True, lambda file: True).claims[id] != {X}


# Drift -----------------------------------------------------------------------------------------------

CASE = "inputs: {x: [1, 2, 3]}\ngraph: {y: exp(x), loss: y.sum()}\nformulas: {x: exp(x)}\n"
DRIFT_ID = "case.yaml::case"


def agreed(**nears: float | None) -> CaseResult:
    """Return passing claims about values, with these agreements by tensor."""
    claims = tuple(
        Comparison(Subject("value", tensor, engine="core"), "passed", dtype="float64", agreement=near)  # type: ignore[arg-type]
        for tensor, near in nears.items()
    )
    return CaseResult(DRIFT_ID, "case.yaml", "case", "passed", comparisons=claims)


@pytest.mark.parametrize(
    ("known", "now", "is_drift"),
    [
        ({"value of y by core": 1e-15}, 1e-11, True),
        ({"value of y by core": 1e-15}, 9e-13, False),
        ({"value of y by core": 1e-11}, 1e-15, False),
        ({"value of z by core": 1e-15}, 1e-11, False),  # a claim that is new
        ({}, 1e-11, False),
        ({"value of y by core": 1e-15}, None, False),
    ],
)
def test_three_digits_lost_are_drift(known: Mapping[str, float], now: float | None, is_drift: bool) -> None:
    assert [one.kind for one in drifted_claims(agreed(y=now), known)] == ["has_drifted"] * is_drift


def test_other_numbers_are_no_drift() -> None:
    """Agreements with another dtype, seed or reference are not comparable."""
    known = {"value of y by core": 1e-15}
    (plain,) = agreed(y=1e-11).comparisons
    others = [replace(plain, dtype="float32"), plain.with_subject(reference="hips")]
    assert [drifted_claims(replace(agreed(), comparisons=(one,)), known) for one in others] == [(), ()]
    assert drifted_claims(replace(agreed(y=1e-11), seed=3), known) == ()
    assert list(agreements(replace(agreed(y=1e-11), seed=3), {})) == ["value of y by core at seed 3"]


def test_what_is_written_changes_only_where_something_has() -> None:
    known = {"value of y by core": 1e-12}
    assert agreements(agreed(y=3e-14, z=2.5e-9), known) == {"value of y by core": 1e-12, "value of z by core": 1e-8}
    assert agreements(agreed(y=2e-17), known) == {"value of y by core": 1e-16}


def test_an_engine_that_gets_worse_within_the_tolerance_is_noticed(with_rules: WithRules) -> None:
    case = case_of(CASE)
    before = run(case, baseline=Baseline("known.json", measures_drift=True))
    known = Baseline("known.json", measures_drift=True).updated(before, True, lambda file: True)
    assert known.agreement.keys() == {DRIFT_ID}
    assert known.agreement[DRIFT_ID]["formula of x: exp(x)"] <= 1e-14

    with_rules("exp", lambda g, y, x: g * y * (1 + 3e-11))
    noted, failed = (run(case, Options(baseline=known, fail_on_drift=strict)) for strict in (False, True))
    assert [one["claim"] for one in noted.cases[0].drift] == ["gradient of x by core"]
    assert (noted.exit_code, failed.exit_code) == (0, 1)
    assert [error.kind for error in failed.cases[0].errors] == ["drift"]


def test_nothing_is_measured_unless_it_is_asked_for() -> None:
    (plain,) = run(case_of(CASE)).cases
    assert {c.agreement for c in plain.comparisons} == {None}


def test_what_failed_as_known_fails_where_it_drifts_besides() -> None:
    known = Baseline("known.json", agreement={DRIFT_ID: {"value of y by core": 1e-15}})
    found = replace(agreed(y=1e-11), status="xfailed")
    assert known.apply_to(found, fail_on_drift=True).status == "failed"
    assert known.apply_to(found).status == "xfailed"
    assert RunResult((known.apply_to(found),), 0.0, {}).exit_code == 0


BOTH_WRONG = """\
name: both wrong
inputs: {x: [1, 2], b: [3, 4]}
graph: {y: (x * x * b).sum()}
formulas: {x: 3 * x, b: x}
"""
OF_X = BOTH_WRONG.replace("b: x}", "b: x * x}")
RAISES = "inputs: {x: [1, 2]}\ngraph: {y: x * x}\nsteps: [{backward: y}]\n"
NAN = "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nchecks: [x == 2 * x]\n"


@pytest.mark.parametrize(
    ("text", "said", "status", "told"),
    [
        (BOTH_WRONG, "known", "xfailed", ""),
        (BOTH_WRONG, "{reason: known, only: [x, formula of b]}", "xfailed", ""),
        (BOTH_WRONG, "{reason: known, only: ['3 * x', x, b]}", "xfailed", ""),
        (BOTH_WRONG, "{reason: known, only: [formula]}", "xfailed", ""),
        (BOTH_WRONG, "{reason: known, only: [formula of b]}", "failed", "fails_elsewhere"),
        (OF_X, "{reason: known, only: [x, b]}", "xpassed", "holds_again"),
        (OF_X, "{reason: known, only: [gradient of x]}", "failed", "fails_elsewhere"),
        (BOTH_WRONG, "{reason: known, until: 2027-01-31}", "xfailed", "fails_until"),
        (BOTH_WRONG, "{reason: known, until: 2027-01-30}", "failed", "past_its_date"),
        (RAISES, "{reason: known, only: [non_scalar_backward]}", "xfailed", ""),
        (RAISES, "{reason: known, only: [x]}", "failed", "fails_elsewhere"),
        (NAN, "{reason: known, only: [check]}", "xfailed", ""),
        (NAN, "{reason: known, only: ['x ==  2 * x']}", "xfailed", ""),
        (OF_X.replace("3 * x", "2 * x * b"), "{reason: known, only: [x], until: 2027-12-31}", "xpassed", ""),
    ],
)
def test_it_must_fail_there_and_nowhere_else_until_its_date(text: str, said: str, status: str, told: str) -> None:
    (found,) = run(case_of(f"{text}xfail: {said}\n"), Options(today="2027-01-31", corrected=False)).cases
    facts = {error.message.kind for error in found.errors} | ({found.known.kind} if found.known else set())
    assert (found.status, told in facts or not told) == (status, True)
    assert found.reason == "known"


def test_what_else_fails_is_told_in_every_format_at_the_line_that_says_so() -> None:
    result = run(case_of(f"{BOTH_WRONG}xfail:\n  reason: known\n  only: [b]\n"), corrected=False)
    assert result.exit_code == 1
    for name in FORMATS:
        text = render(result, name, Look(width=200)).replace("%3A", ":")
        assert "fails elsewhere too: formula of x" in text, name
    assert result.cases[0].errors[-1].place.line == 7


def test_every_kind_of_claim_may_be_named() -> None:
    names = ", ".join(kind.replace("_", " ") for kind in ClaimKind)
    assert case_of(f"{BOTH_WRONG}xfail: {{reason: known, only: [{names}]}}\n").xfail is not None


def test_every_error_has_a_name_that_the_language_knows() -> None:
    raised = {one.kind for one in (*TensorError.__subclasses__(), CodeError, EngineError, EndlessRecursion)}
    assert raised - {"unsupported"} <= {*XFAIL_ERRORS, *get_args(ErrorKind)}


def test_a_case_whose_code_raises_may_say_so() -> None:
    def raises(x: Any) -> Any:
        raise ValueError("no")

    case = with_code("inputs: {x: [1.0, 2.0]}\ngraph: {y: tanh(x)}\nxfail: {reason: r, only: [code_raised]}", raises)
    assert [one.status for one in run(case, allow_code=True).cases] == ["xfailed"]
