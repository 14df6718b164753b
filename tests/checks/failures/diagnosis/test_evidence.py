"""What hypotheses are given: an op alone, uses, and when two versions of a gradient agree."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.failures.diagnosis.evidence import Evidence, Use, contribution_origin
from gradcheck.facts import fact
from tests.checks.failures.diagnosis.evidence import rule

MUL = "{inputs: {x: 'randn(3)', y: 'randn(3)'}, graph: {out: x * y}, backward: {out: 'randn(3)'}}"
SPLIT = "{inputs: {x: 'randn(4)'}, graph: {out: 'split(x, 2)', loss: 'out[0].sum()'}}"


def test_a_rule_knows_what_went_in_and_came_out() -> None:
    one = rule(MUL, 1)
    x, y = one.tensors
    assert one.tensor is y
    assert one.incoming is one.cotangents[0]
    assert np.array_equal(one.output, x * y)
    assert np.allclose(one.right_gradients[1], one.incoming * x)


def test_a_rule_is_asked_about_other_tensors_and_incoming_gradients() -> None:
    one = rule(MUL, 1)
    x, _ = one.tensors
    assert np.allclose(one.gradient_with_tensors({0: 2 * x}), one.incoming * 2 * x)
    assert np.allclose(one.right_gradient(one.application, [np.ones(3)]), x)
    assert one.right_gradient(one.application, [np.ones(7)]) is None


def test_an_op_with_several_outputs_has_no_single_one() -> None:
    one = rule(SPLIT)
    assert one.incoming is None
    assert one.output is None


def test_a_contribution_comes_from_an_op_or_from_the_root() -> None:
    assert (
        Use("mul", "d", 0, np.ones(1)).origin == contribution_origin("mul", "d") == fact("op_at", op="mul", entry="d")
    )
    assert Use("", "", 0, np.ones(1)).origin == fact("incoming_at_root")


def test_no_gradient_counts_as_zeros() -> None:
    assert Evidence(None, np.ones(3)).got_or_zeros.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ([1.0, 2.0], [1.0, 2.0 + 1e-11], True),
        ([1.0, 2.0], [1.0, 2.0 + 1e-9], False),
        ([0.0, 2.0], [1e-15, 2.0], True),
        ([0.0, 2.0], [1e-11, 2.0], False),
        ([1e-10, 2.0], [-1e-10, 2.0], False),
        ([np.nan, 1.0], [np.nan, 1.0], True),
        ([np.nan, 1.0], [0.0, 1.0], False),
        ([np.inf, 1.0], [np.inf, 1.0], True),
        ([1.0, 1.0], [np.inf, 1.0], False),
        ([1.0, 1.0], [1.0, np.inf], False),
        ([[1.0, 2.0]], [1.0, 2.0], False),
    ],
)
def test_agreement_is_but_for_rounding(one: list[float], other: list[float], agree: bool) -> None:
    evidence = Evidence(np.ones(2), np.ones(2))
    assert evidence.agree(np.array(one), np.array(other)) is agree


def test_agreement_knows_what_cancelled_and_what_was_rounded() -> None:
    near, far = np.array([1.0]), np.array([1.0 + 1e-6])
    assert not Evidence(near, near).agree(near, far)
    assert Evidence(near, near, scale=1e9).agree(near, far)
    assert Evidence(near, near, rounding_rtol=1e-5).agree(near, far)
    assert Evidence(near.astype(np.float32), near).agree(near, far)
