"""One-sided derivatives, an element each: what a file expects, and functions that jump."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.closeness.agreement import Allowance, Answer
from gradcheck.checks.failures.one_sided_derivatives import classify_at_kink
from gradcheck.checks.result import Subject
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.oracles.numeric.finite_differences import Estimate

FAILED = Subject(ClaimKind.GRADIENT, "x", engine="core", reference="torch").failed()


def estimate(left: list[float], right: list[float], kinked: list[bool]) -> Estimate:
    sides = np.array(left), np.array(right)
    return Estimate((sides[0] + sides[1]) / 2, np.zeros(len(left)), *sides, np.array(kinked), "differences")


def judged(got: float, all_seen: bool = True, kinked: bool = True) -> str | None:
    answers = Answer("core", np.array([got])), Answer("torch", np.array([0.0]))
    found = classify_at_kink(FAILED, answers, estimate([0.0], [3.0], [kinked]), Allowance(np.array([1e-10])), all_seen)
    return None if found is None else found.status


@pytest.mark.parametrize(("got", "status"), [(1.0, "not_differentiable"), (3.0, "not_differentiable"), (3.1, "failed")])
def test_between_the_sides(got: float, status: str) -> None:
    assert judged(got) == status


def test_what_was_not_looked_at_is_no_failure() -> None:
    assert judged(1.0, all_seen=False) == "undecided"
    assert judged(3.1, all_seen=False) == "failed"
    assert judged(1.0, kinked=False) is None
