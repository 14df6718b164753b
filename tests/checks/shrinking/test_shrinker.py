"""The loop, with a check that decides by what a case says and runs nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gradcheck.checks.result import CaseResult, Subject
from gradcheck.checks.shrinking.failure_signature import FailureSignature
from gradcheck.checks.shrinking.shrinker import CandidateBudget, Shrinker
from gradcheck.language.case import Case
from gradcheck.language.claim_kind import ClaimKind
from tests.checks.shrinking.build import entries, pinned, shapes
from tests.from_text import case_of

ENGINE = FailureSignature(ClaimKind.GRADIENT, ("numbers",), "core")
NETWORK = """
    inputs: {x: "randn(2, 4)", w: "randn(4, 5)"}
    graph: {a: x @ w, b: tanh(a) * 2, c: b * b, loss: c.sum()}
"""


def shrinker(fails: Callable[[Case], bool], candidates: float = 1000, signature: FailureSignature = ENGINE) -> Shrinker:
    def check(case: Case, thorough: bool) -> CaseResult:
        assert not thorough
        kind = signature.kind or ClaimKind.GRADIENT
        subject = Subject(kind, signature.tensor, engine=signature.engine, formula=signature.formula)
        return CaseResult("", "", "", "failed" if fails(case) else "passed", comparisons=(subject.failed(),))

    return Shrinker(signature, check, CandidateBudget(candidates))


def has_tanh(case: Case) -> bool:
    return any("tanh" in text for text in entries(case).values())


def test_it_ends_where_nothing_smaller_fails() -> None:
    found = shrinker(has_tanh)
    smallest = found.smallest(pinned(NETWORK))
    assert found.complete
    (text,) = entries(smallest).values()
    assert text.startswith("tanh(")
    assert set(shapes(smallest).values()) == {(1, 1)}


def test_what_must_stay_stays() -> None:
    def is_wide(case: Case) -> bool:
        return has_tanh(case) and any(np.ndim(v.array) == 2 and np.shape(v.array)[-1] > 2 for v in case.inputs.values())

    smallest = shrinker(is_wide).smallest(pinned(NETWORK))
    assert set(shapes(smallest).values()) == {(1, 3)}


def test_a_budget_that_is_spent_ends_it() -> None:
    tried: list[Case] = []

    def fails(case: Case) -> bool:
        tried.append(case)
        return has_tanh(case)

    found = shrinker(fails, candidates=3)
    found.smallest(pinned(NETWORK))
    assert not found.complete
    assert 1 <= len(tried) <= 3


def test_larger_candidates_cost_more() -> None:
    small, large = CandidateBudget(100), CandidateBudget(100)
    assert small.spend(pinned("{inputs: {x: 1}, graph: {y: x * 2}}"))
    assert large.spend(pinned("{inputs: {x: 'randn(100, 100)'}, graph: {y: x.sum()}}"))
    assert 1 < small.spent < 2 < large.spent < 100
    assert not CandidateBudget(0).spend(pinned("{inputs: {x: 1}, graph: {y: x * 2}}"))


def test_nothing_is_tried_twice() -> None:
    tried: list[str] = []

    def fails(case: Case) -> bool:
        tried.append(repr((entries(case), case.inputs, case.constants, case.steps)))
        return False

    found = shrinker(fails)
    case = pinned(NETWORK)
    found.smallest(case)
    found.smallest(case)
    assert tried
    assert len(set(tried)) == len(tried)


def test_the_graph_of_a_claim_stays() -> None:
    claim = FailureSignature(ClaimKind.FORMULA, ("numbers",), "case", "x", "x")
    smallest = shrinker(lambda case: True, signature=claim).smallest(pinned(NETWORK + "    formulas: {x: x}"))
    assert list(smallest.graph) == ["a", "b", "c", "loss"]
    assert set(shapes(smallest).values()) == {(1, 1)}


def test_known_numbers_keep_theirs() -> None:
    known = FailureSignature(ClaimKind.EXPECTED, ("numbers",), "core", "x")
    case = pinned("{inputs: {x: [1.5, 2.5]}, graph: {y: x.sum()}, expected: {x: [1, 2]}}")
    assert shapes(shrinker(lambda case: True, signature=known).smallest(case)) == {"x": (2,)}


def test_another_failure_is_none() -> None:
    def crashes(case: Case, thorough: bool) -> CaseResult:
        return CaseResult("", "", "", "failed", comparisons=(Subject(ClaimKind.VALUE, "y", engine="core").failed(),))

    assert not Shrinker(ENGINE, crashes, CandidateBudget(10)).fails(pinned(NETWORK))


def test_what_is_drawn_is_not_cut() -> None:
    """Only what is unused can be left out of it."""
    case = case_of("{inputs: {x: 'randn(3)', w: 'randn(3)'}, graph: {y: tanh(x), loss: y.sum()}}")
    assert list(shrinker(has_tanh).smallest(case).graph) == ["y", "loss"]
