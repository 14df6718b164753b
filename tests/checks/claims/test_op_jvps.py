"""Ops alone in forward mode: directions, agreement, kinks, and what only one of two can do."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.checks.claims.evaluations import engine_subject
from gradcheck.checks.claims.op_jvps import check_op_jvps, directions_of
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.phrases import say
from tests.checks.build import point_of
from tests.conftest import WithRules


def found_at(point: Point, oracle: bool = True) -> list[Comparison]:
    return list(check_op_jvps(point, point.engines.tested, None, oracle))


def test_directions_are_those_of_what_is_tracked_the_same_each_time() -> None:
    applications = point_of("{inputs: {x: [1.0, 2.0]}, constants: {c: [3.0, 4.0]}, graph: {y: x * c}}").applications
    (first,), (again,) = directions_of(applications, 3), directions_of(applications, 3)
    assert [way.shape for way in first] == [(2,)]
    np.testing.assert_array_equal(first[0], again[0])
    assert not np.array_equal(first[0], directions_of(applications, 4)[0][0])


def test_a_symmetric_matrix_moves_among_symmetric_ones() -> None:
    text = "{inputs: {s: [[2.0, 0.5], [0.5, 3.0]]}, graph: {l: linalg.cholesky(s)}}"
    ((way,),) = directions_of(point_of(text).applications, 0)
    np.testing.assert_array_equal(way, way.T)


def test_ops_that_agree_are_a_comparison_an_entry() -> None:
    point = point_of("{inputs: {x: [1.0, 2.0]}, graph: {y: exp(x) * 2, loss: y.sum()}}")
    assert [(c.what, c.tensor, c.status) for c in found_at(point)] == [
        (ClaimKind.NODE_JVP, "y", "passed"),
        (ClaimKind.NODE_JVP, "loss", "passed"),
    ]
    assert engine_subject(point, ClaimKind.NODE_JVP, "y", point.engines.tested[0]).reference == "torch"


def test_a_wrong_tangent_names_op_output_and_place(with_rules: WithRules) -> None:
    with_rules("exp", lambda g, y, x: 2 * g * y)
    (wrong,) = [c for c in found_at(point_of("{inputs: {x: [1.0]}, graph: {y: x * 2, z: exp(y)}}")) if c.mismatch]
    assert wrong.tensor == "z"
    assert wrong.mismatch is not None
    assert (wrong.mismatch["op"], wrong.mismatch["number"], wrong.mismatch["place"]) == ("exp", 0, 1)


def test_a_rule_that_raises_fails_with_both_outcomes(with_rules: WithRules) -> None:
    with_rules("exp", lambda g, y, x: TABLE["reshape"](g, (7,)))
    (wrong,) = found_at(point_of("{inputs: {x: [1.0]}, graph: {y: exp(x)}}"))
    assert wrong.status == "failed"
    assert say(wrong.mismatch).startswith("exp alone in forward mode: core raises ")


def test_where_the_reference_has_no_forward_mode_the_oracle_decides() -> None:
    text = "{inputs: {x: [[1.0], [3.0]]}, graph: {y: 'cdist(x, x + 1)'}}"
    assert {c.status for c in found_at(point_of(text))} == {"passed"}


def test_where_a_value_is_no_number_conventions_may_differ() -> None:
    text = "{inputs: {x: [1.0, .nan]}, graph: {y: 'amax(x, dim=0)'}}"
    assert [c.status for c in found_at(point_of(text))] == ["not_differentiable"]


def test_half_precision_agrees() -> None:
    text = "{dtype: float16, inputs: {x: [1000, 1000, 0]}, graph: {y: 'torch.logsumexp(x, 0)', z: 'softmax(x, 0)'}}"
    assert {c.status for c in found_at(point_of(text))} == {"passed"}
