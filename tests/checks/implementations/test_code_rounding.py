"""What rounding makes of code."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gradcheck.checks.scheduling.run import run
from gradcheck.testing import check_function
from tests.engines.implementation import functions
from tests.engines.implementation.build import TANH, with_code

VARIANCE = 'inputs: {x: "randn(3, 6) + 30"}\ngraph: {y: "var(x, dim=1, unbiased=False)"}'


def test_a_naive_variance_rounds_more_and_is_right() -> None:
    (found,) = run(with_code(VARIANCE, functions.naive_variance, dtypes=("float32",)), allow_code=True).cases
    assert found.status == "passed"
    assert any(c.has_note("own_rounding") for c in found.comparisons)


def test_a_mistake_is_no_rounding() -> None:
    wrong = with_code(VARIANCE, lambda x: functions.naive_variance(x) * (1 + 1e-4), dtypes=("float32",))
    (found,) = run(wrong, allow_code=True).cases
    assert found.status == "failed"


def test_nor_is_computing_in_less_precision() -> None:
    (found,) = run(with_code(TANH, functions.narrow), allow_code=True).cases
    assert found.status == "failed"
    pair = (lambda x: x.astype("float32").astype("float64"), lambda g, x: g)
    (found,) = run(with_code(TANH.replace("tanh(x)", "x * 1"), pair), allow_code=True).cases
    assert found.status == "failed"


class Attention(torch.autograd.Function):
    """Causal attention whose first row, of one key, has a gradient of exactly 0; torch's fused one has rounding."""

    @staticmethod
    def forward(ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        later = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool).triu(1)
        p = torch.softmax((q @ k.mT * q.shape[-1] ** -0.5).masked_fill(later, -torch.inf), -1)
        ctx.save_for_backward(q, k, v, p)
        return p @ v

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        q, k, v, p = ctx.saved_tensors
        ds = p * (g @ v.mT - (g * (p @ v)).sum(-1, keepdim=True)) * q.shape[-1] ** -0.5
        return ds @ k, ds.mT @ q, p.mT @ g


def test_code_that_rounds_elsewhere_than_the_reference_is_right() -> None:
    shape = (1, 2, 5, 4)
    spec = "F.scaled_dot_product_attention(q, k, v, is_causal=True)"
    check_function(Attention.apply, q=shape, k=shape, v=shape, spec=spec, choices={"dtypes": ["float32"]})


SWISH = 'inputs: {x: "randn(3, 4)"}\ngraph: {y: "x * sigmoid(1.7 * x)"}'


def _sigmoid(x: Any, cut: float) -> Any:
    """Return a sigmoid that is exactly 0 far to the left, as `0.5 + 0.5 * tanh(x / 2)` is."""
    return torch.where(x < cut, torch.zeros_like(x), torch.sigmoid(x))


def test_a_function_that_is_exactly_0_where_it_saturates_is_right() -> None:
    layer = (lambda x: (x * (0.5 + 0.5 * np.tanh(0.85 * x)), x),
             lambda g, x: g * (s := 0.5 + 0.5 * np.tanh(0.85 * x)) * (1 + 1.7 * x * (1 - s)))  # fmt: skip
    (found,) = run(with_code(SWISH, layer), allow_code=True).cases
    assert found.status == "passed"


def test_one_that_is_0_too_early_is_wrong() -> None:
    (found,) = run(with_code(SWISH, lambda x: x * _sigmoid(1.7 * x, -25.0)), allow_code=True).cases
    assert found.status == "failed"
