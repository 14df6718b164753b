"""What a baseline makes of a result: known, new, gone; and what is written into it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gradcheck.checks.baseline import Baseline, KnownClaim, failing_claims
from gradcheck.checks.options import Options
from gradcheck.checks.result import CaseResult, Comparison, Failure, RunResult, Subject
from gradcheck.checks.scheduling.run import run
from gradcheck.facts import fact
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
    assert Baseline("k", {"a.yaml::gone": frozenset({X}), "o.yaml::c": frozenset({X})}).vanished_cases(ran) == [
        "a.yaml::gone"
    ]


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
