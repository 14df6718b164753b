"""All tangents at one point: along which directions, by whom, and what is compared."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.claims.jvp_points import JvpPoint
from gradcheck.language.claim_kind import ClaimKind
from tests.checks.build import point_of

CHAIN = "{inputs: {x: [1.0, 2.0]}, graph: {y: x * 2, z: exp(y)}, backward: {z: [1, 1]}}"


def test_directions_are_those_of_inputs_that_can_move() -> None:
    forward = JvpPoint(point_of(CHAIN), None, uses_oracle=True)
    assert list(forward.directions) == ["x"]
    again = JvpPoint(point_of(CHAIN), None, uses_oracle=True)
    np.testing.assert_array_equal(forward.directions["x"], again.directions["x"])


def test_each_engine_is_asked_once() -> None:
    forward = JvpPoint(point_of(CHAIN), None, uses_oracle=True)
    assert forward.pushforward(forward.reference) is forward.pushforward(forward.reference)


def test_the_oracle_is_asked_only_if_it_may_be() -> None:
    assert set(JvpPoint(point_of(CHAIN), None, uses_oracle=True).oracle_tangents) == {"y", "z"}
    assert JvpPoint(point_of(CHAIN), None, uses_oracle=False).oracle_tangents == {}


def test_each_tensor_of_the_graph_is_compared() -> None:
    point = point_of(CHAIN)
    found = list(JvpPoint(point, None, uses_oracle=True).check(point.engines.tested[0]))
    assert [(c.what, c.tensor, c.status) for c in found] == [
        (ClaimKind.JVP, "y", "passed"),
        (ClaimKind.JVP, "z", "passed"),
    ]


def test_what_is_ill_conditioned_has_slack() -> None:
    point = point_of("{inputs: {x: [1.0, 1.0]}, graph: {y: (x * 1e8 - x * 1e8).sum() + x.sum()}}")
    slack = JvpPoint(point, None, uses_oracle=True).allowance("y")
    assert slack is not None
    assert 1e-10 < float(slack) < 1e-4


def test_a_last_pass_that_raises_is_no_pass() -> None:
    text = "{inputs: {x: [1, 2]}, graph: {z: x * x}, steps: [{backward: z, raises: non_scalar_backward}]}"
    forward = JvpPoint(point_of(text), None, uses_oracle=True)
    assert (forward.has_pass, forward.step) == (False, 0)
