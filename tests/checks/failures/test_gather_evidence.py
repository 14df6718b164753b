"""Evidence about one op's rule, about how a tensor's gradient is put together, and about a formula."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradcheck.autograd import ops
from gradcheck.checks.claims.operations import check_operations
from gradcheck.checks.failures.fault_localization import Fault, gradient_increments
from gradcheck.checks.failures.gather_evidence import (
    MORE_POINTS,
    evidence_of_accumulation,
    evidence_of_formula,
    evidence_of_rule,
    make_reference_pullback,
    only_use,
)
from gradcheck.checks.failures.gradient_flow import GradientFlow
from gradcheck.checks.points.drawing import Points
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import WrongOperation
from gradcheck.facts import fact
from tests.checks.build import context_of
from tests.conftest import WithRules

CASE = "{inputs: {x: [1.0, 2.0], y: [3.0, 4.0]}, graph: {z: x * y, loss: z.sum()}}"


def wrong(with_rules: WithRules) -> tuple[WrongOperation, Points]:
    with_rules("mul", lambda g, y, a, b: g * b, lambda g, y, a, b: g * b)
    points = context_of(CASE).points
    (found,) = [c for c in check_operations(points.own, points.engines.tested) if c.status == "failed"]
    assert found.operation is not None
    return found.operation, points


def test_there_is_evidence_at_several_points_each_with_what_is_right(with_rules: WithRules) -> None:
    operation, points = wrong(with_rules)
    found = list(evidence_of_rule(operation, points, points.own))
    assert len(found) == 1 + MORE_POINTS
    for evidence in found:
        assert evidence.rule is not None
        (incoming,), (a, b) = evidence.rule.cotangents, evidence.rule.tensors
        assert np.allclose(evidence.want, incoming * a)  # type: ignore[operator]
        assert np.allclose(evidence.got, incoming * b)  # type: ignore[arg-type, operator]
    assert not np.array_equal(found[0].want, found[1].want)


def test_of_a_scalar_s_gradient_there_is_as_much(with_rules: WithRules) -> None:
    with_rules("sum", lambda g, y, x, *rest: ops.expand(2 * g, x.shape))
    context = context_of("{inputs: {x: [1.5, 2.0]}, graph: {y: sum(x)}}")
    (found,) = (c for c in check_operations(context.points.own, context.engines.tested) if c.status == "failed")
    assert found.operation is not None
    assert len(list(evidence_of_rule(found.operation, context.points, context.points.own))) == 1 + MORE_POINTS


def test_where_another_point_lacks_the_op_its_arguments_are_scaled(
    with_rules: WithRules, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation, points = wrong(with_rules)
    monkeypatch.setattr(Point, "applications", [])
    found = list(evidence_of_rule(operation, points, points.own))
    assert len(found) == 1 + MORE_POINTS


def test_a_question_that_makes_no_sense_has_no_answer() -> None:
    point = context_of(CASE).points.own
    ask = make_reference_pullback(point.engines.reference, np.dtype(np.float64))
    application = point.applications[0]
    assert len(ask(application, [np.ones(2)])) == 2
    assert ask(replace(application, args=(np.ones(2), np.ones(3)), recorded=None), [np.ones(2)]) == ()


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
    flow, gradients = GradientFlow(point.problem, 0), gradient_increments(point.want, 0)
    rule = only_use(point, flow, "d", gradients)
    assert rule is not None
    assert (rule.application.op.name, rule.position) == ("mul", 0)
    assert rule.incoming is not None
    assert rule.incoming.tolist() == [1.0, 2.0]
    assert only_use(point, flow, "a", gradients) is None  # used twice


REUSE = """
    inputs: {a: [1.0, 2.0], b: [3.0, 1.0]}
    graph: {d: a * b, e: a + b, f: d * e}
    backward: {f: [1.0, 2.0]}
    formulas: {a: grad(d) * b, b: grad(d) @ a}
"""


def test_a_formula_is_known_with_its_paths_at_several_points() -> None:
    context = context_of(REUSE)
    (claim,) = context.case.formulas["a"]
    found = list(
        evidence_of_formula("a", claim, [context.points.nearby_point(context.points.own, n) for n in range(3)])
    )
    assert len(found) == 1 + MORE_POINTS
    for evidence in found:
        assert np.allclose(evidence.without_path[fact("path", entry="e")], evidence.got)  # type: ignore[arg-type]
        assert not np.allclose(evidence.got, evidence.want)  # type: ignore[arg-type]
        assert {when.kind for when in evidence.reseeded} == {"ones_for"}


def test_a_formula_of_another_shape_is_evidence_too() -> None:
    context = context_of(REUSE)
    (claim,) = context.case.formulas["b"]
    evidence = next(iter(evidence_of_formula("b", claim, [context.points.own])))
    assert evidence.got is not None
    assert evidence.got.shape == ()


def test_of_several_passes_only_the_numbers_are_known() -> None:
    context = context_of(REUSE.replace("backward: {f: [1.0, 2.0]}", "steps: [{backward: {f: [1, 2]}}, {zero_grad: b}]"))
    (claim,) = context.case.formulas["a"]
    evidence = next(iter(evidence_of_formula("a", claim, [context.points.own])))
    assert (dict(evidence.without_path), evidence.rule) == ({}, None)
