"""The right numbers in other places; sums that are missing, and sums where there should be none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.checks.failures.diagnosis import shape_mistakes
from gradcheck.checks.failures.diagnosis.catalogue import Evidence, Predict
from gradcheck.facts import Fact, fact
from tests.checks.failures.diagnosis.evidence import fitting, guessed, of_rule, rule

RNG = np.random.default_rng(8)
ROW, WIDE, CUBE = RNG.standard_normal(4), RNG.standard_normal((2, 3)), RNG.standard_normal((2, 3, 4))


@pytest.mark.parametrize(
    ("predict", "want", "got", "key", "found"),
    [
        (shape_mistakes.transposed, WIDE, WIDE.T, "mT", fact("is_transpose", ndim=2)),
        (shape_mistakes.transposed, CUBE, CUBE.swapaxes(1, 2), "mT", fact("is_transpose", ndim=3)),
        (shape_mistakes.permuted, CUBE, CUBE.transpose(2, 0, 1), (2, 0, 1), fact("axes_permuted", order=(2, 0, 1))),
        (shape_mistakes.flipped, ROW, ROW[::-1], 0, fact("back_to_front", axis=None)),
        (shape_mistakes.flipped, WIDE, WIDE[:, ::-1], 1, fact("back_to_front", axis=1)),
        (shape_mistakes.flipped, CUBE, CUBE[:, ::-1, ::-1], "kernel", fact("matrices_back_to_front")),
        (shape_mistakes.reshaped, ROW[:1], ROW[:1].reshape(()), "shape", fact("only_shape_wrong", got=(), want=(1,))),
        (shape_mistakes.flipped, WIDE, WIDE[::-1, ::-1], "all", fact("back_to_front_everywhere")),
        (shape_mistakes.shifted, ROW, np.roll(ROW, 1), (0, 1), fact("one_place_off", step=1, axis=None, zeros=False)),
        (
            shape_mistakes.shifted,
            WIDE,
            np.roll(WIDE, -1, 1),
            (1, -1),
            fact("one_place_off", step=-1, axis=1, zeros=False),
        ),
        (
            shape_mistakes.shifted,
            ROW,
            np.array([*ROW[1:], 0]),
            (0, -1, 0),
            fact("one_place_off", step=-1, axis=None, zeros=True),
        ),
        (shape_mistakes.reshaped, WIDE, WIDE.reshape(6), "shape", fact("only_shape_wrong", got=(6,), want=(2, 3))),
        (shape_mistakes.reshaped, WIDE, WIDE.ravel(order="F").reshape(2, 3), "F", fact("order_of_transpose")),
        (shape_mistakes.reshaped, WIDE, WIDE.reshape(3, 2).T, "C", fact("transposed_not_reshaped")),
    ],
)
def test_what_stands_elsewhere(predict: Predict, want: np.ndarray, got: np.ndarray, key: Any, found: Fact) -> None:
    assert fitting(predict, Evidence(got, want)) == {key: found}


@pytest.mark.parametrize(
    ("predict", "got", "want"),
    [
        (shape_mistakes.transposed, ROW, ROW),
        (shape_mistakes.transposed, WIDE[:, :1], WIDE[:, :1]),
        (shape_mistakes.permuted, np.ones((2,) * 5), np.ones((2,) * 5)),
        (shape_mistakes.flipped, ROW[:3], ROW),
        (shape_mistakes.shifted, WIDE[:, :2], WIDE[:, :2]),  # of two, a shift is a flip
        (shape_mistakes.reshaped, ROW[:1], ROW[:1]),
        (shape_mistakes.reshaped, ROW, WIDE),
        (shape_mistakes.reshaped, None, WIDE),
    ],
)
def test_where_nothing_is_tried(predict: Predict, got: np.ndarray | None, want: np.ndarray) -> None:
    assert guessed(predict, Evidence(got, want)) == []


ADDED = "{inputs: {x: 'randn(2, 3, 4)', b: 'randn(%s)'}, graph: {out: x + b}, backward: {out: 'randn(2, 3, 4)'}}"
WANT = np.random.default_rng(5).standard_normal((2, 3))


def test_a_broadcast_that_is_not_undone() -> None:
    known = rule(ADDED % "4", 1)
    g = known.cotangents[0]
    assert g is not None
    assert fitting(shape_mistakes.unreduced, of_rule(known, g)) == {"whole": fact("broadcast_kept", axes=(0, 1))}
    partly = fact("broadcast_partly_kept", axes=(1,))
    assert fitting(shape_mistakes.unreduced, of_rule(known, g.sum(0))) == {((1,), False): partly}
    assert fitting(shape_mistakes.unreduced, of_rule(known, g.sum(0, keepdims=True))) == {((1,), True): partly}
    one = fact("broadcast_one_taken", place=-1, axes=(0, 1))
    assert fitting(shape_mistakes.unreduced, of_rule(known, g[-1, -1])) == {-1: one}


def test_an_axis_of_size_one_counts_as_broadcast() -> None:
    known = rule(ADDED % "3, 1", 1)
    found = fitting(shape_mistakes.unreduced, of_rule(known, known.cotangents[0]))
    assert found == {"whole": fact("broadcast_kept", axes=(0, 2))}


def test_a_sum_over_another_axis_is_spread_out() -> None:
    """Rules that sum over axis 0, as biases need it, and get a column."""
    known = rule(ADDED % "3, 1", 1)
    g = known.cotangents[0]
    assert g is not None
    got = np.broadcast_to(g.sum(1, keepdims=True), g.shape)
    found = fitting(shape_mistakes.unreduced, of_rule(known, np.array(got)))
    assert found == {(1, True): fact("broadcast_summed_elsewhere", axis=1, axes=(0, 2))}


def test_what_was_not_broadcast_says_nothing() -> None:
    assert guessed(shape_mistakes.unreduced, of_rule(rule(ADDED % "4", 0), WANT)) == []
    matmul = "{inputs: {x: 'randn(2, 3)', b: 'randn(3)'}, graph: {out: x @ b}, backward: {out: 'randn(2)'}}"
    assert guessed(shape_mistakes.unreduced, of_rule(rule(matmul, 1), WANT)) == []


def test_without_an_op_the_shapes_tell() -> None:
    whole = np.random.default_rng(6).standard_normal((4, 2, 3))
    evidence = Evidence(whole, whole.sum(0))
    assert fitting(shape_mistakes.unreduced_anywhere, evidence) == {"whole": fact("sum_missing", axes=(0,))}
    assert guessed(shape_mistakes.unreduced_anywhere, Evidence(whole, 2 * whole.sum(0))) == []
    assert guessed(shape_mistakes.unreduced_anywhere, Evidence(np.ones(5), np.ones(3))) == []


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
    assert fitting(shape_mistakes.summed, Evidence(got, WANT)) == {key: fact(kind, axes=(0,))}


def test_of_many_axes_no_sums_are_tried() -> None:
    assert guessed(shape_mistakes.summed, Evidence(np.ones(2), np.ones((2,) * 5))) == []
    assert guessed(shape_mistakes.summed, Evidence(np.ones(2), np.arange(16.0).reshape(2, 2, 2, 2, 1))) != []


def test_a_sum_of_equal_numbers_is_a_factor() -> None:
    assert not fitting(shape_mistakes.summed, Evidence(np.full((2, 3), 12.0), np.full((2, 3), 2.0)))
