"""Kinds of claims and their order; comparisons, their subjects and notes; exit codes."""

from __future__ import annotations

import pytest

from gradcheck.checks.result import CaseResult, ClaimKind, RunResult, Subject, Trial
from gradcheck.facts import fact


def test_kinds_are_the_words_of_the_json() -> None:
    assert [kind.value for kind in ClaimKind] == [str(kind) for kind in ClaimKind]
    assert ClaimKind("gradient2") is ClaimKind.GRADIENT2


def test_a_cause_ranks_before_what_follows_from_it() -> None:
    order = (ClaimKind.RAISES, ClaimKind.VALUE, ClaimKind.NODE, ClaimKind.GRADIENT, ClaimKind.FORMULA)
    assert sorted(order, key=lambda kind: kind.rank) == list(order)
    assert ClaimKind.EXPECTED.rank == ClaimKind.GRADIENT.rank
    assert ClaimKind.EXPECTED_VALUE.rank == ClaimKind.VALUE.rank


@pytest.mark.parametrize(
    ("kind", "of_file", "general", "about"),
    [
        (ClaimKind.GRADIENT, False, False, "gradient"),
        (ClaimKind.EXPECTED, True, False, "gradient"),
        (ClaimKind.FORMULA, True, True, "gradient"),
        (ClaimKind.VALUE, False, False, "value"),
        (ClaimKind.EXPECTED_VALUE, True, False, "value"),
        (ClaimKind.CHECK, True, True, ""),
        (ClaimKind.WRONG_FORMULA, True, True, ""),
        (ClaimKind.NODE, False, False, ""),
    ],
)
def test_what_kinds_have_in_common(kind: ClaimKind, of_file: bool, general: bool, about: str) -> None:
    assert (kind.is_of_file, kind.is_general) == (of_file, general)
    assert (kind.is_about_gradient, kind.is_about_value) == (about == "gradient", about == "value")


def test_a_comparison_is_about_its_subject() -> None:
    trial = Trial(2, 7, {"n": 3})
    subject = Subject(ClaimKind.FORMULA, "x", 1, "case", "torch", formula="2 * x", trial=trial)
    c = subject.failed(fact("is_not_true"), elements=4)
    assert (c.what, c.tensor, c.step, c.engine, c.reference) == (ClaimKind.FORMULA, "x", 1, "case", "torch")
    assert (c.formula, c.trial, c.status, c.elements) == ("2 * x", trial, "failed", 4)
    assert c.about(engine="mine").engine == "mine"
    assert c.about(engine="mine").tensor == "x"


def test_notes_are_added_and_asked_for_by_kind() -> None:
    c = Subject(ClaimKind.GRADIENT, "x").passed().noted(fact("nans_agree", count=2), fact("no_elements"))
    assert c.has_note("nans_agree")
    assert not c.has_note("infinities_agree")
    assert c.noted() is c


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ((), 5),
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
