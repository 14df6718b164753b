"""Comparisons, their subjects and notes; exit codes."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace

import pytest

from gradcheck.checks.result import CaseResult, Comparison, RunResult, Subject, Trial
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind


def test_a_comparison_is_about_its_subject() -> None:
    trial = Trial(2, 7, {"n": 3})
    subject = Subject(ClaimKind.FORMULA, "x", 1, "case", "torch", formula="2 * x", trial=trial)
    c = subject.failed(fact("is_not_true"), elements=4)
    assert (c.what, c.tensor, c.step, c.engine, c.reference) == (ClaimKind.FORMULA, "x", 1, "case", "torch")
    assert (c.formula, c.trial, c.status, c.elements) == ("2 * x", trial, "failed", 4)
    assert c.with_subject(engine="mine").engine == "mine"
    assert c.with_subject(engine="mine").tensor == "x"


def test_notes_are_added_and_asked_for_by_kind() -> None:
    c = Subject(ClaimKind.GRADIENT, "x").passed().with_notes(fact("nans_agree", count=2), fact("no_elements"))
    assert c.has_note("nans_agree")
    assert not c.has_note("infinities_agree")
    assert c.with_notes() is c


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ((), 5),
        (("skipped",), 5),
        (("unsupported", "skipped"), 5),
        (("passed", "skipped", "xfailed"), 0),
        (("passed", "failed"), 1),
        (("xpassed",), 1),
        (("invalid", "failed"), 2),
        (("crashed", "invalid", "failed"), 3),
    ],
)
def test_the_highest_exit_code_wins(statuses: tuple[str, ...], code: int) -> None:
    cases = tuple(CaseResult(str(i), "f.yaml", "c", status) for i, status in enumerate(statuses))  # type: ignore[arg-type]
    assert RunResult(cases, 0.0, {}).exit_code == code
    assert RunResult(cases, 0.0, {}, interrupted=True).exit_code == 130


def test_what_is_made_quickly_is_as_its_class_makes_it() -> None:
    subject = Subject(ClaimKind.VALUE, "y", 1, "core", "torch")
    quick, made = subject.passed(shape=(2,), elements=2), Comparison(subject, "passed", shape=(2,), elements=2)
    assert (quick, repr(quick), hash(quick), replace(quick, atol=1.0)) == (
        made,
        repr(made),
        hash(made),
        replace(made, atol=1.0),
    )
    assert pickle.loads(pickle.dumps(quick)) == quick
    assert subject.of("z", step=2) == replace(subject, tensor="z", step=2)
    with pytest.raises(FrozenInstanceError):
        quick.status = "failed"  # type: ignore[misc]
