"""Code without a specification."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.testing import check_function
from tests.engines.implementation import functions


@pytest.mark.parametrize("function", [functions.Tanh.apply, torch.relu, functions.OnlyOnce.apply])
def test_right_code_passes(function: Any) -> None:
    assert check_function(function, x=(3, 2)).exit_code == 0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (functions.WrongSign.apply, "gradient of x: WrongSign.apply differs from its own forward"),
        (functions.Raises.apply, "no such thing"),
        (functions.ChangesIncoming.apply, "changes its incoming gradient in place"),
        (functions.Remembers.apply, "called again between"),
        (functions.SecondOrderLost.apply, "second-order gradient"),
    ],
)
def test_wrong_code_fails(function: Any, words: str) -> None:
    with pytest.raises(AssertionError) as raised:
        check_function(function, x=(3, 2))
    assert words in " ".join(str(raised.value).split())


def test_pairs_are_held_to_differences() -> None:
    check_function(functions.sine_forward, functions.sine_backward, x=(3, 2))
    with pytest.raises(AssertionError, match="differences"):
        check_function(functions.sine_forward, lambda g, x: g * np.sin(x), x=(3, 2))
    with pytest.raises(AssertionError, match="shape"):
        check_function(functions.affine_forward, functions.not_summed, x=(3, 2), w=(2, 4), b=(4,))


def test_at_a_kink_what_lies_between_the_sides_is_right() -> None:
    x = np.array([0.0, 1.0, -1.0])
    check_function(np.abs, lambda g, x: g * np.where(x == 0, 0.3, np.sign(x)), x=x)
    with pytest.raises(AssertionError):
        check_function(np.abs, lambda g, x: g * np.where(x == 0, 2.0, np.sign(x)), x=x)


def test_a_pair_is_called_by_its_forwards_name() -> None:
    def twice(x: np.ndarray) -> np.ndarray:
        return 2 * x

    def wrong(incoming: np.ndarray, x: np.ndarray) -> np.ndarray:
        return incoming

    with pytest.raises(AssertionError, match="gradient of x: twice differs"):
        check_function((twice, wrong), x=np.array([1.0, 2.0]), spec="2 * x")


def test_a_gradient_known_to_be_wrong_is_not_asked_at_every_point() -> None:
    calls = []

    def forward(x: Any, w: Any, v: Any) -> Any:
        calls.append(1)
        return x @ w @ v

    def doubled(g: Any, x: Any, w: Any, v: Any) -> Any:
        return 2 * (g @ (w @ v).T), 2 * (x.T @ g @ v.T), 2 * ((x @ w).T @ g)

    with pytest.raises(AssertionError, match="off by the constant factor 2"):
        check_function(forward, doubled, x=(4, 6), w=(6, 6), v=(6, 5))
    assert len(calls) < 6000  # 9,500 if all points are asked
