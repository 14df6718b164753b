"""The expression that a forward computes, by torch's ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.engines.implementation.traced_forward import ForwardTracer, traced, traced_expression
from gradcheck.language.expr.printer import to_text

NAMES = {"x": torch.ones(3, 4), "w": torch.ones(4, 2)}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x, w: x.clone().mm(w) / 2, "x @ w / 2"),
        (lambda x, w: 1 - torch.nn.functional.softmax(x, dim=-1), "1 - softmax(x, dim=-1)"),
        (lambda x, w: x.view(2, -1)[0] * x.size(0), "reshape(x, [2, -1])[0] * 3"),
        (lambda x, w: x.max(-1)[0], "max(x, -1)[0]"),
        (lambda x, w: (x.T, w.mul_(2)), "(x.T, w * 2)"),
        (lambda x, w: (x - x.mean(-1, keepdim=True)) ** 2, "(x - mean(x, -1, keepdim=True)) ** 2"),
    ],
)
def test_ops_are_written(call: Callable[..., Any], text: str) -> None:
    found = traced_expression(lambda: call(*NAMES.values()), NAMES)
    assert found is not None
    assert to_text(found) == text


def test_what_is_no_op_is_not_written() -> None:
    assert traced_expression(lambda: torch.fft.fft2(NAMES["x"]), NAMES) is None
    assert traced_expression(lambda: torch.from_numpy(NAMES["x"].numpy() * 2), NAMES) is None


def expression(code: Callable[[Any], Any]) -> str | None:
    tracer = ForwardTracer({"x": torch.arange(6.0, dtype=torch.float64).reshape(2, 3)})
    found = tracer.expression(code(traced(np.arange(6.0).reshape(2, 3) * 1, tracer)))
    return None if found is None else to_text(found)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (lambda x: np.square(x).sum(1, keepdims=True), "sum(square(x), 1, keepdim=True)"),
        (lambda x: np.max(x, axis=1), "amax(x, dim=1)"),
        (lambda x: x.var(axis=0), "var(x, dim=0, correction=0)"),
        (lambda x: np.swapaxes(x, 0, 1), "transpose(x, 0, 1)"),
        (lambda x: np.tanh(x) * np.array([1.0, 0, 1]), "tanh(x) * tensor([1.0, 0.0, 1.0])"),
    ],
)
def test_calls_of_numpy_become_ops(code: Callable[[Any], Any], text: str) -> None:
    assert expression(lambda x: code(x)) == text


def test_what_is_not_known_has_no_expression() -> None:
    assert expression(lambda x: np.partition(x, 1)) is None
