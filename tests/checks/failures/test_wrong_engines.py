"""Small Tensor classes that are wrong, each in one way: for each, the disease is named."""

from __future__ import annotations

import linecache
from functools import cache

import pytest

from gradcheck.checks.result import CaseResult, Comparison, RunResult
from gradcheck.checks.scheduling.run import run
from gradcheck.reports.phrases import say
from tests.claims import engines_alone
from tests.paths import wrong_engine

CASES = ("cases/reuse", "cases/elementwise/known-numbers.yaml", "cases/matmul")

#: What each suffers from.
DISEASES = {
    "overwrites": {"overwritten", "recursion"},  # it calls itself, too
    "passes_on_early": {"passed_on_early"},
    "from_leaves": {"passed_on_early"},
    "random_ids": {"not_deterministic"},
    "recurses": {"recursion"},
    "mutates": {"mutated"},
    "changes_inputs": {"input_mutated", "saved_value"},
}

#: What else may come of it: in a graph of more tensors than there are numbers, nothing arrives whatever is drawn.
RESULTS = {"random_ids": {"detached"}}


@cache
def checked(name: str, cases: tuple[str, ...] = CASES) -> RunResult:
    return run(engines_alone(cases), engines=[wrong_engine(name)])


def causes(case: CaseResult) -> list[Comparison]:
    return [c for c in case.comparisons if c.status == "failed" and c.cause]


@pytest.mark.parametrize("name", DISEASES)
def test_the_disease_is_named(name: str) -> None:
    failed = [case for case in checked(name).cases if case.status == "failed"]
    assert failed
    named = [case for case in failed if any(d.kind in DISEASES[name] for c in causes(case) for d in c.diagnoses)]
    assert len(named) >= 0.9 * len(failed), [case.name for case in failed if case not in named]


@pytest.mark.parametrize("name", DISEASES)
def test_no_other_disease_is_named_with_confidence(name: str) -> None:
    for case in checked(name).cases:
        kinds = {d.kind for c in causes(case) for d in c.diagnoses if d.confidence == "confirmed"}
        assert kinds <= DISEASES[name] | RESULTS.get(name, set()), case.name


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("overwrites", "maker.grad = share(self.grad)"),
        ("mutates", "self.grad += gradient"),
        ("passes_on_early", "def backward(self, gradient=None):"),
        ("from_leaves", "def backward(self, gradient=None):"),
        ("recurses", "maker._visit(seen, order)"),
    ],
)
def test_the_line_of_the_class_is_shown(name: str, line: str) -> None:
    codes = [c.code for case in checked(name).cases for c in causes(case)]
    lines = [linecache.getline(code.file, code.line).strip() for code in codes if code is not None]
    assert lines
    assert lines.count(line) >= 0.8 * len(lines), lines


def test_the_sound_twin_has_none() -> None:
    result = checked("right")
    assert result.count("passed") > 10
    assert not any(c.cause or c.diagnoses for case in result.cases for c in case.comparisons)


def test_overwriting_is_told_by_the_use_that_has_arrived() -> None:
    (case,) = checked("overwrites", ("cases/reuse/shared-summand.yaml::one summand in two sums",)).cases
    (cause,) = causes(case)
    assert cause.tensor == "b"
    assert cause.cause is not None
    assert say(cause.cause.origin) == "b"
    wrong = "the contributions of its 2 uses are put together wrongly; all 3 operations are right on their own"
    assert say(cause.cause.what) == wrong
    (diagnosis,) = cause.diagnoses
    assert say(diagnosis.message) == "accumulated by overwriting: of its 2 uses only the one in add at e has arrived"
    assert diagnosis.confidence == "confirmed"


def test_passing_on_early_is_told_by_who_had_reported() -> None:
    (case,) = checked("passes_on_early", ("cases/reuse/diamonds.yaml::a diamond with arms of different lengths",)).cases
    (cause,) = causes(case)
    assert cause.tensor == "x"
    assert "h passed on its gradient when only add at loss had reported" in say(cause.diagnoses[0].message)


def test_a_pass_that_goes_from_the_leaves_is_told_as_that() -> None:
    messages = {d.message.kind for case in checked("from_leaves").cases for c in causes(case) for d in c.diagnoses}
    assert messages == {"goes_from_leaves"}
