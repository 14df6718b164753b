"""What failed at one point of a case, and how causes and consequences are noted."""

from __future__ import annotations

from gradcheck.checks.failures.diagnosis.catalogue import Evidence
from gradcheck.checks.failures.point_failures import PointFailures, diagnose
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Cause, Subject, Trial
from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from tests.checks.build import context_of

TRIAL = Trial(1, 0, {"n": 3})
ORIGIN = fact("op_at", op="tanh", entry="h")


def failures(trial: Trial | None = None) -> PointFailures:
    """A value, two gradients (one of a trial) and a formula that failed, and a gradient that passed."""
    context = context_of("{inputs: {x: [1.0]}, graph: {h: tanh(x)}}")
    subjects = [
        Subject(ClaimKind.VALUE, "h", engine="core"),
        Subject(ClaimKind.GRADIENT, "x", engine="core"),
        Subject(ClaimKind.GRADIENT, "x", engine="core", trial=TRIAL),
        Subject(ClaimKind.FORMULA, "x", engine="case"),
    ]
    context.found = [*(subject.failed() for subject in subjects), Subject(ClaimKind.GRADIENT, "h").passed()]
    return PointFailures(context, Point(context.points.own.problem, context.engines, trial))


def test_failures_are_found_by_kind_and_engine() -> None:
    found = failures()
    assert found.failed() == [0, 1, 2, 3]
    assert found.failed((ClaimKind.GRADIENT,)) == [1, 2]
    assert found.failed((), "core") == [0, 1, 2]
    assert found.failed_here((ClaimKind.GRADIENT,)) == [1]


def test_at_a_trial_only_its_own_comparisons_count() -> None:
    assert failures(TRIAL).failed() == [2]


def test_a_cause_is_no_consequence_and_what_follows_keeps_its_first_cause() -> None:
    found = failures()
    found.blame(0, Cause(ORIGIN, fact("value_is_wrong")), ())
    found.mark_consequences(ORIGIN, [0, 1])
    found.mark_consequences(fact("chance"), [1, 3])
    assert [c.consequence_of for c in found.comparisons[:4]] == [None, ORIGIN, None, fact("chance")]


def test_only_gradients_of_these_tensors_follow() -> None:
    found = failures()
    found.mark_gradient_consequences(ORIGIN, Core(), {"x"})
    assert [bool(c.consequence_of) for c in found.comparisons] == [False, True, True, False, False]


def test_where_no_mistake_explains_it_what_was_tried_is_kept() -> None:
    import numpy as np

    evidence = Evidence(np.array([1.0, 5.0, -3.3]), np.array([2.0, 2.5, 7.1]))
    (unknown,) = diagnose([evidence, evidence])
    assert (unknown.kind, unknown.message.kind) == ("unknown", "nothing_explains_it")
    assert "factor" in unknown.tried


def test_evidence_that_cannot_be_computed_is_no_crash() -> None:
    def broken() -> object:
        raise GradcheckError("no such point")
        yield

    (unknown,) = diagnose(broken())  # type: ignore[arg-type]
    assert unknown.message == fact("no_explanation", error="no such point")
