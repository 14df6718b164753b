"""Pairs that take torch's tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.engines.implementation.pair_tensors import PairCalls
from gradcheck.testing import check_function


def layer_norm_forward(x: Any, w: Any, b: Any, eps: float = 1e-5) -> Any:
    mean = x.mean(-1, keepdim=True)
    shifted = x - mean
    scale = ((shifted**2).mean(-1, keepdim=True) + eps) ** -0.5
    return shifted * scale * w + b, (x, w, mean, scale)


def layer_norm_backward(dout: Any, cache: Any) -> Any:
    x, w, mean, scale = cache
    norm = (x - mean) * scale
    dnorm = dout * w
    dx = dnorm - dnorm.mean(-1, keepdim=True) - norm * (dnorm * norm).mean(-1, keepdim=True)
    return dx * scale, (dout * norm).sum((0,)), dout.sum((0,))


def without_mean(dout: Any, cache: Any) -> Any:
    _, dw, db = layer_norm_backward(dout, cache)
    return dout * cache[1] * cache[3], dw, db


class Squares:
    """A pair that names torch, with several results and a dict as its cache."""

    @staticmethod
    def forward(x: Any) -> Any:
        return torch.square(x), torch.sum(x), {"x": [x]}

    @staticmethod
    def backward(dsquare: Any, dsum: Any, cache: Any) -> Any:
        return 2 * dsquare * cache["x"][0] + dsum

    @staticmethod
    def wrong(dsquare: Any, dsum: Any, cache: Any) -> Any:
        return 2 * dsquare * cache["x"][0] + torch.zeros_like(dsum)


@pytest.mark.parametrize("dtypes", [["float64"], ["float32", "bfloat16"]])
def test_methods_alone_show_what_a_pair_takes(dtypes: list[str]) -> None:
    shapes: dict[str, Any] = {"x": (4, 3), "w": (3,), "b": (3,), "choices": {"dtypes": dtypes}}
    spec = "F.layer_norm(x, x.shape[-1:], w, b)"
    check_function(layer_norm_forward, layer_norm_backward, spec=spec, **shapes)
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(layer_norm_forward, without_mean, spec=spec, **shapes)


def test_without_a_specification_differences_decide() -> None:
    check_function(Squares.forward, Squares.backward, x=torch.randn(3, dtype=torch.float64))
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(Squares.forward, Squares.wrong, x=torch.randn(3, dtype=torch.float64))


def test_tensors_share_the_memory_of_arrays() -> None:
    def doubles(x: Any) -> Any:
        x *= 2
        return torch.clone(x)

    calls = PairCalls(doubles, doubles)
    x = np.ones(2)
    assert np.array_equal(calls.call(doubles, [x]), [2, 2])
    assert calls.takes_tensors
    assert np.array_equal(x, [2, 2])


def test_numpy_code_gets_arrays_and_its_own_exception() -> None:
    def fails(x: Any) -> Any:
        raise KeyError("x")

    assert PairCalls(lambda x: np.sin(x), lambda g, x: g).takes_tensors is False
    calls = PairCalls(fails, fails)
    with pytest.raises(KeyError):
        calls.call(fails, [np.ones(1)])
    assert calls.takes_tensors is None
    assert isinstance(calls.call(lambda x: x + 1, [np.ones(1)]), np.ndarray)
    assert calls.takes_tensors is False


def test_code_that_mentions_torch_may_take_arrays() -> None:
    def forward(x: Any) -> Any:
        return torch.from_numpy(x).exp().numpy()

    def backward(g: Any, x: Any) -> Any:
        return (torch.from_numpy(g) * torch.from_numpy(x).exp()).numpy()

    check_function(forward, backward, x=(3, 2), spec="exp(x)")
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(forward, lambda g, x: backward(2 * g, x), x=(3, 2), spec="exp(x)")
