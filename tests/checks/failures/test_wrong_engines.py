"""Small Tensor classes that are wrong, each in one way: each is found out, and its disease is named."""

from __future__ import annotations

import linecache
from functools import cache

import pytest

from gradcheck.checks.result import CaseResult, Comparison, RunResult
from gradcheck.checks.scheduling.run import run
from gradcheck.reports.phrases import say
from tests.claims import engines_alone
from tests.from_text import case_of
from tests.paths import WRONG_ENGINES, wrong_engine

CASES = ("cases/reuse", "cases/elementwise/known-numbers.yaml")

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

FAULTS = sorted(path.stem for path in WRONG_ENGINES.glob("*.py") if path.stem != "right")


@cache
def checked(name: str, cases: tuple[str, ...] = CASES) -> RunResult:
    return run(engines_alone(cases), engines=[wrong_engine(name)], trials=1)  # more of them say nothing of the engine


def failed(name: str) -> set[str]:
    return {case.name for case in checked(name).cases if case.status == "failed"}


def causes(case: CaseResult) -> list[Comparison]:
    return [c for c in case.comparisons if c.status == "failed" and c.cause]


@pytest.mark.parametrize("name", DISEASES)
def test_the_disease_is_named(name: str) -> None:
    wrong = [case for case in checked(name).cases if case.status == "failed"]
    assert wrong
    named = [case for case in wrong if any(d.kind in DISEASES[name] for c in causes(case) for d in c.diagnoses)]
    assert len(named) >= 0.9 * len(wrong), [case.name for case in wrong if case not in named]


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


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("overwrites", "one summand in two sums"),
        ("passes_on_early", "a diamond with arms of different lengths"),
        ("random_ids", "sums of sums and of their parts"),
        ("recurses", "a thousand uses by a thousand children"),
        ("mutates", "one summand in two sums"),
        ("changes_inputs", "a diamond"),
    ],
)
def test_each_fails_at_the_case_that_is_made_for_it(name: str, case: str) -> None:
    assert case in failed(name)


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_is_found_out(name: str) -> None:
    assert failed(name)
    assert checked(name).count("crashed") == 0


def test_what_all_of_them_lack_is_never_passed() -> None:
    """None of them has cat. One that answers by chance may go wrong before it is asked for it."""
    for name in (*FAULTS, "right"):
        by_name = {case.name: case.status for case in checked(name).cases}
        status = by_name["three times by one concatenation"]
        assert status == "unsupported" or (name == "random_ids" and status == "failed"), name


def test_overwriting_is_right_where_nothing_is_reused() -> None:
    case = case_of("inputs: {x: [1, 2], y: [3, 4]}\ngraph: {z: x + y}\nbackward: {z: [1, 1]}\n")
    (found,) = run([case], engines=[wrong_engine("overwrites")]).cases
    assert found.status == "passed"


def test_the_sound_twin_has_none() -> None:
    result = checked("right")
    assert not failed("right")
    assert result.count("crashed") == 0
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
