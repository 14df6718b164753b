"""The fuzzer: its trials can be done again, most reach something, and it sees what is wrong."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fuzz.graphs import graph
from benchmarks.fuzz.session import Session
from benchmarks.fuzz.texts import CHANGES, shipped, spoiled
from benchmarks.fuzz.trial import Finding, Trial, planned, tried
from gradcheck.language.loader import load_text

SOUND = b"inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\n"


def test_a_number_stands_for_one_trial() -> None:
    assert planned(7) == planned(7)
    assert planned(7) != planned(8)
    assert planned(7) != planned(7, seed=1)


@given(st.integers(0, 10**6), st.sampled_from([*CHANGES]))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_any_text_is_read_without_a_crash(number: int, change: Any) -> None:
    random = Random(number)
    text = change(random.choice(shipped()), random)
    cases, errors = load_text(text, "f.yaml")
    assert cases or errors
    load_text(spoiled(random).decode("utf-8", "replace"), "f.yaml")


def test_most_random_graphs_are_cases() -> None:
    made = [load_text(graph(Random(number)).decode(), "f.yaml") for number in range(100)]
    assert sum(not errors for _, errors in made) > 50


def test_nothing_is_found_in_what_is_sound(tmp_path: Path) -> None:
    trial = tried(Trial(0, SOUND, ("--order", "2")), tmp_path)
    assert trial.findings == []
    assert trial.statuses == ("passed",)
    assert trial.memory > 0


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("gradcheck.checks.claims.operations.check", "crash"),
        ("gradcheck.checks.failures.explain.suggest", "incomplete"),
        ("gradcheck.engines.traced_case.trace_case", "crash"),
        ("gradcheck.reports.commands.explanation.render", "crash"),
        ("gradcheck.reports.phrases.comparison_text.worst_element_text", "untold"),
    ],
)
def test_it_sees_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, kind: str) -> None:
    def breaks(*_: object, **__: object) -> Any:
        raise IndexError("list index out of range")

    monkeypatch.setattr(target, breaks)
    found = tried(Trial(0, SOUND + b"formulas: {x: x}\n", ("--no-shrink",)), tmp_path).findings
    assert kind in {one.kind for one in found}
    assert all("IndexError" in one.text for one in found if one.kind == kind)


def test_it_sees_what_validate_does_not_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradcheck.language.value_precheck.find_value_errors", lambda case: [])
    found = tried(Trial(0, b"inputs: {x: 'zeros(0.5)'}\ngraph: {y: x * 2}\n", ()), tmp_path).findings
    assert [one.kind for one in found] == ["validate"]


def test_it_sees_a_key_that_the_schema_has_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradcheck.reports.formats.json._mutation_score_record", lambda case: {"colour": "red"})
    assert {one.kind for one in tried(Trial(0, SOUND, ()), tmp_path).findings} == {"schema"}


def test_a_process_that_ends_is_a_finding_and_another_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(trial: Trial, folder: Path) -> Trial:
        if trial.number == 1:
            raise SystemExit
        return trial

    monkeypatch.setattr("benchmarks.fuzz.session.tried", ends)
    session = Session(0)
    trials = []
    for trial in session.trials(0, 200.0):
        trials.append(trial)
        if len(trials) == 3:
            break
    assert [[one.kind for one in trial.findings] for trial in trials] == [[], ["end of the process"], []]


def test_findings_alike_are_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session, trial = Session(0), Trial(3, SOUND, ())
    assert session.is_new(trial, Finding("crash", "index 3"))
    assert not session.is_new(trial, Finding("crash", "index 4"))
    assert session.is_new(trial, Finding("hang", "index 3"))
    assert (tmp_path / ".gradcheck_cache" / "fuzz" / "0-3.yaml").read_bytes() == SOUND
