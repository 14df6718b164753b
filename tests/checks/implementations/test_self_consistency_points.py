"""At which points code alone is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.testing import check_function


def test_given_arrays_are_tried_in_other_sizes() -> None:
    def mean(x: Any) -> Any:
        return x.mean(0)

    def for_more_than_one(g: Any, x: Any) -> Any:
        return np.broadcast_to(g / max(len(x) - 1, 1) * (len(x) - 1) / len(x), x.shape)

    def for_other_sizes(g: Any, x: Any) -> Any:
        across = g[:, None] if x.shape[0] == x.shape[1] else g
        return np.broadcast_to(across / len(x), x.shape)

    x = np.arange(1.0, 7.0).reshape(3, 2)
    check_function(mean, lambda g, x: np.broadcast_to(g / len(x), x.shape), x=x)
    for wrong in (for_more_than_one, for_other_sizes):
        with pytest.raises(AssertionError, match=r"where n\d = "):
            check_function(mean, wrong, x=x)


def test_what_refuses_other_sizes_or_broadcasts_there_is_not_wrong() -> None:
    weights = np.arange(6.0).reshape(3, 2)

    def only_here(x: Any) -> Any:
        if x.shape != (3, 2):
            raise ValueError("three rows of two")
        return x * 2

    x = np.arange(1.0, 7.0).reshape(3, 2)
    check_function(only_here, lambda g, x: 2 * g, x=x)
    check_function(lambda x: x * weights, lambda g, x: g * weights, x=x)
    check_function(lambda x: x[:, 0] * x[:, 1], lambda g, x: g[:, None] * x[:, ::-1], x=x)


def test_what_is_written_for_one_size_is_right_there() -> None:
    x = np.arange(1.0, 7.0)
    check_function(lambda x: (x * x).mean(), lambda g, x: g * x / 3, x=x)
    with pytest.raises(AssertionError):
        check_function(lambda x: (x * x).mean(), lambda g, x: g * x / 3 * (1 if len(x) > 1 else 2), x=x)


def test_numbers_beside_those_of_the_code_are_tried() -> None:
    def square(x: Any) -> Any:
        return x * np.abs(x)

    def cut_off(g: Any, x: Any) -> Any:
        return 2 * g * np.where(np.abs(x) < 1e-5, 0, np.abs(x))

    x = np.linspace(-2, 2, 8)
    check_function(square, lambda g, x: 2 * g * np.abs(x), x=x)
    with pytest.raises(AssertionError):
        check_function(square, cut_off, x=x)


def test_what_is_undefined_beyond_the_given_signs_is_left_out() -> None:
    def entropy(x: torch.Tensor) -> torch.Tensor:
        return torch.where(x > 0, x * torch.log(torch.where(x > 0, x, 1)), 0)

    class Entropy(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return entropy(x)

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return g * (torch.log(x) + 1)

    check_function(Entropy.apply, x=np.array([0.5, 0.2, 1.5]))
    with pytest.raises(AssertionError):
        check_function(Entropy.apply, x=np.array([0.5, -0.2, 1.5]))
