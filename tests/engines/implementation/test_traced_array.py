"""Expressions of what NumPy computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.engines.implementation.traced_array import traced
from gradcheck.engines.implementation.traced_forward import ForwardTracer
from gradcheck.language.expr.printer import to_text


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
