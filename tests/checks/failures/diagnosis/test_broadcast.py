"""Sums that are missing, and sums where there should be none."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.failures.diagnosis import broadcast
from gradcheck.checks.failures.diagnosis.evidence import Evidence
from gradcheck.facts import fact
from tests.checks.failures.diagnosis.evidence import fitting, guessed, of_rule, rule

ADDED = "{inputs: {x: 'randn(2, 3, 4)', b: 'randn(%s)'}, graph: {out: x + b}, backward: {out: 'randn(2, 3, 4)'}}"
WANT = np.random.default_rng(5).standard_normal((2, 3))


def test_a_broadcast_that_is_not_undone() -> None:
    known = rule(ADDED % "4", 1)
    g = known.cotangents[0]
    assert g is not None
    assert fitting(broadcast.unreduced, of_rule(known, g)) == {"whole": fact("broadcast_kept", axes=(0, 1))}
    partly = fact("broadcast_partly_kept", axes=(1,))
    assert fitting(broadcast.unreduced, of_rule(known, g.sum(0))) == {((1,), False): partly}
    assert fitting(broadcast.unreduced, of_rule(known, g.sum(0, keepdims=True))) == {((1,), True): partly}
    one = fact("broadcast_one_taken", place=-1, axes=(0, 1))
    assert fitting(broadcast.unreduced, of_rule(known, g[-1, -1])) == {-1: one}


def test_an_axis_of_size_one_counts_as_broadcast() -> None:
    known = rule(ADDED % "3, 1", 1)
    found = fitting(broadcast.unreduced, of_rule(known, known.cotangents[0]))
    assert found == {"whole": fact("broadcast_kept", axes=(0, 2))}


def test_what_was_not_broadcast_says_nothing() -> None:
    assert guessed(broadcast.unreduced, of_rule(rule(ADDED % "4", 0), WANT)) == []
    matmul = "{inputs: {x: 'randn(2, 3)', b: 'randn(3)'}, graph: {out: x @ b}, backward: {out: 'randn(2)'}}"
    assert guessed(broadcast.unreduced, of_rule(rule(matmul, 1), WANT)) == []


def test_without_an_op_the_shapes_tell() -> None:
    whole = np.random.default_rng(6).standard_normal((4, 2, 3))
    evidence = Evidence(whole, whole.sum(0))
    assert fitting(broadcast.unreduced_anywhere, evidence) == {"whole": fact("sum_missing", axes=(0,))}
    assert guessed(broadcast.unreduced_anywhere, Evidence(whole, 2 * whole.sum(0))) == []
    assert guessed(broadcast.unreduced_anywhere, Evidence(np.ones(5), np.ones(3))) == []


@pytest.mark.parametrize(
    ("got", "key", "kind"),
    [
        (WANT.sum(0, keepdims=True), ((0,), "kept"), "summed_over"),
        (WANT.sum(0), ((0,), "gone"), "summed_over"),
        (np.broadcast_to(WANT.sum(0), (2, 3)), ((0,), "spread"), "summed_and_spread"),
        (np.broadcast_to(WANT.mean(0), (2, 3)), ((0,), "mean"), "averaged_over"),
    ],
)
def test_sums_where_there_should_be_none(got: np.ndarray, key: tuple[object, ...], kind: str) -> None:
    assert fitting(broadcast.summed, Evidence(got, WANT)) == {key: fact(kind, axes=(0,))}


def test_of_many_axes_no_sums_are_tried() -> None:
    assert guessed(broadcast.summed, Evidence(np.ones(2), np.ones((2,) * 5))) == []
    assert guessed(broadcast.summed, Evidence(np.ones(2), np.ones((2, 2, 2, 2, 1)))) != []
