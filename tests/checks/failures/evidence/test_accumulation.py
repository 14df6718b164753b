"""Evidence about how a tensor's gradient is put together."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.failures.evidence import MORE_POINTS
from gradcheck.checks.failures.evidence.accumulation import evidence_of_accumulation, only_use
from gradcheck.checks.failures.gradient_flow import GradientFlow
from gradcheck.checks.failures.localize import Fault, added
from tests.checks.build import context_of

REUSE = "{inputs: {a: [1.0, 2.0], b: [3.0, 1.0]}, graph: {d: a * b, e: a + b, f: d * e}, backward: {f: [1.0, 2.0]}}"


def test_every_use_is_known_at_several_points() -> None:
    context = context_of(REUSE)
    points = context.points
    fault = Fault("a", 0, None, np.zeros(2), 0.0)
    found = list(evidence_of_accumulation(fault, context.engines.tested[0], points, points.own))
    assert len(found) == 1 + MORE_POINTS
    for evidence in found:
        assert sorted(use.owner for use in evidence.uses) == ["d", "e"]
        assert np.allclose(sum(use.share for use in evidence.uses), evidence.want)  # type: ignore[arg-type]
        assert set(evidence.others) == {"b", "d", "e", "f"}
        assert not evidence.is_root


def test_a_root_may_have_been_given_ones() -> None:
    context = context_of(REUSE)
    fault = Fault("f", 0, None, np.zeros(2), 0.0)
    evidence = next(
        iter(evidence_of_accumulation(fault, context.engines.tested[0], context.points, context.points.own))
    )
    assert evidence.is_root
    assert [when.kind for when in evidence.reseeded] == ["ones_in_its_place"]


def test_the_only_use_of_a_tensor_is_a_rule() -> None:
    point = context_of(REUSE).points.own
    flow, gradients = GradientFlow(point.problem, 0), added(point.want, 0)
    rule = only_use(point, flow, "d", gradients)
    assert rule is not None
    assert (rule.application.op.name, rule.position) == ("mul", 0)
    assert rule.incoming is not None
    assert rule.incoming.tolist() == [1.0, 2.0]
    assert only_use(point, flow, "a", gradients) is None  # used twice
