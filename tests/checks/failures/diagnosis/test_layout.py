"""The right numbers in other places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.checks.failures.diagnosis import layout
from gradcheck.checks.failures.diagnosis.catalogue import Predict
from gradcheck.checks.failures.diagnosis.evidence import Evidence
from gradcheck.facts import Fact, fact
from tests.checks.failures.diagnosis.evidence import fitting, guessed

RNG = np.random.default_rng(8)
ROW, WIDE, CUBE = RNG.standard_normal(4), RNG.standard_normal((2, 3)), RNG.standard_normal((2, 3, 4))


@pytest.mark.parametrize(
    ("predict", "want", "got", "key", "found"),
    [
        (layout.transposed, WIDE, WIDE.T, "mT", fact("is_transpose", ndim=2)),
        (layout.transposed, CUBE, CUBE.swapaxes(1, 2), "mT", fact("is_transpose", ndim=3)),
        (layout.permuted, CUBE, CUBE.transpose(2, 0, 1), (2, 0, 1), fact("axes_permuted", order=(2, 0, 1))),
        (layout.flipped, ROW, ROW[::-1], 0, fact("back_to_front", axis=None)),
        (layout.flipped, WIDE, WIDE[:, ::-1], 1, fact("back_to_front", axis=1)),
        (layout.flipped, WIDE, WIDE[::-1, ::-1], "all", fact("back_to_front_everywhere")),
        (layout.shifted, ROW, np.roll(ROW, 1), (0, 1), fact("one_place_off", step=1, axis=None, zeros=False)),
        (
            layout.shifted,
            WIDE,
            np.roll(WIDE, -1, 1),
            (1, -1),
            fact("one_place_off", step=-1, axis=1, zeros=False),
        ),
        (
            layout.shifted,
            ROW,
            np.array([*ROW[1:], 0]),
            (0, -1, 0),
            fact("one_place_off", step=-1, axis=None, zeros=True),
        ),
        (layout.reshaped, WIDE, WIDE.reshape(6), "shape", fact("only_shape_wrong", got=(6,), want=(2, 3))),
        (layout.reshaped, WIDE, WIDE.ravel(order="F").reshape(2, 3), "F", fact("order_of_transpose")),
        (layout.reshaped, WIDE, WIDE.reshape(3, 2).T, "C", fact("transposed_not_reshaped")),
    ],
)
def test_what_stands_elsewhere(predict: Predict, want: np.ndarray, got: np.ndarray, key: Any, found: Fact) -> None:
    assert fitting(predict, Evidence(got, want)) == {key: found}


@pytest.mark.parametrize(
    ("predict", "got", "want"),
    [
        (layout.transposed, ROW, ROW),
        (layout.transposed, WIDE[:, :1], WIDE[:, :1]),
        (layout.permuted, np.ones((2,) * 5), np.ones((2,) * 5)),
        (layout.flipped, ROW[:3], ROW),
        (layout.shifted, WIDE[:, :2], WIDE[:, :2]),  # of two, a shift is a flip
        (layout.reshaped, ROW[:1], ROW[:1]),
        (layout.reshaped, ROW, WIDE),
        (layout.reshaped, None, WIDE),
    ],
)
def test_where_nothing_is_tried(predict: Predict, got: np.ndarray | None, want: np.ndarray) -> None:
    assert guessed(predict, Evidence(got, want)) == []
