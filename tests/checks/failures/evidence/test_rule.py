"""Evidence about one op's rule: at its own numbers and at others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gradcheck.checks.claims.operations import check_operations
from gradcheck.checks.failures.evidence import MORE_POINTS
from gradcheck.checks.failures.evidence.rule import asking, evidence_of_rule
from gradcheck.checks.points import Point
from gradcheck.checks.result import WrongOperation
from gradcheck.engines.base import Application
from tests.checks.build import context_of
from tests.conftest import WithRules

CASE = "{inputs: {x: [1.0, 2.0], y: [3.0, 4.0]}, graph: {z: x * y, loss: z.sum()}}"


def wrong(with_rules: WithRules) -> tuple[WrongOperation, Point]:
    with_rules("mul", lambda g, y, a, b: g * b, lambda g, y, a, b: g * b)
    point = context_of(CASE).points.own
    (found,) = [c for c in check_operations(point, point.engines.tested) if c.status == "failed"]
    assert found.operation is not None
    return found.operation, point


def test_there_is_evidence_at_several_points_each_with_what_is_right(with_rules: WithRules) -> None:
    operation, point = wrong(with_rules)
    points = context_of(CASE).points
    found = list(
        evidence_of_rule(
            operation,
            point.engines.reference,
            np.dtype(np.float64),
            lambda k: points.nearby(points.own, k).applications,
        )
    )
    assert len(found) == 1 + MORE_POINTS
    for evidence in found:
        assert evidence.rule is not None
        (incoming,), (a, b) = evidence.rule.cotangents, evidence.rule.tensors
        assert np.allclose(evidence.want, incoming * a)  # type: ignore[operator]
        assert np.allclose(evidence.got, incoming * b)  # type: ignore[arg-type, operator]
    assert not np.array_equal(found[0].want, found[1].want)


def test_where_another_point_lacks_the_op_its_arguments_are_scaled(with_rules: WithRules) -> None:
    operation, point = wrong(with_rules)
    nobody: Callable[[int], list[Application]] = lambda number: []  # noqa: E731
    found = list(evidence_of_rule(operation, point.engines.reference, np.dtype(np.float64), nobody))
    assert len(found) == 1 + MORE_POINTS


def test_a_question_that_makes_no_sense_has_no_answer() -> None:
    point = context_of(CASE).points.own
    ask = asking(point.engines.reference, np.dtype(np.float64))
    application = point.applications[0]
    assert len(ask(application, [np.ones(2)])) == 2
    assert ask(replace(application, args=(np.ones(2), np.ones(3)), recorded=None), [np.ones(2)]) == ()
