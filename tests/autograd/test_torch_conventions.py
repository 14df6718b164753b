"""Subgradients of the installed torch, and of other versions."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.autograd import Tensor, ops
from gradcheck.autograd.ops.min_max import ties_are_shared

#: Every order of three numbers, and every tie.
X, LOW, HIGH = (list(column) for column in zip(*product((1.0, 2.0, 3.0), repeat=3), strict=True))
CALLS: dict[str, tuple[Callable[..., Any], int]] = {
    "two tensors": (lambda of, x, low, high: of.clamp(x, low, high), 3),
    "a lower tensor": (lambda of, x, low: of.clamp(x, min=low), 2),
    "an upper tensor": (lambda of, x, high: of.clamp(x, max=high), 2),
    "two numbers": (lambda of, x: of.clamp(x, 1.0, 2.0), 1),
    "one number": (lambda of, x: of.clamp(x, min=2) + of.clamp(x, max=2.0), 1),
    "equal numbers": (lambda of, x: of.clamp(x, 2.0, 2.0), 1),
    "crossing numbers": (lambda of, x: of.clamp(x, 3.0, 1.0), 1),
    "clamp_min": (lambda of, x, low: of.clamp_min(x, low) * of.clamp_min(x, 2.0), 2),
    "fmax": (lambda of, x, other: of.fmax(x, other), 2),
    "fmin": (lambda of, x, other: of.fmin(x, other), 2),
}


def of_core(call: Callable[..., Any], *arrays: list[float]) -> list[list[float]]:
    tensors = [Tensor(np.array(array), requires_grad=True) for array in arrays]
    call(ops, *tensors).sum().backward()
    return [np.asarray(tensor.grad.data).tolist() for tensor in tensors]


def of_torch(call: Callable[..., Any], *arrays: list[float]) -> list[list[float]]:
    tensors = [torch.tensor(array, dtype=torch.float64, requires_grad=True) for array in arrays]
    call(torch, *tensors).sum().backward()
    return [tensor.grad.tolist() for tensor in tensors]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", CALLS)
def test_ties_are_those_of_the_installed_torch(name: str) -> None:
    call, count = CALLS[name]
    arrays = (X, LOW, HIGH)[:count]
    assert of_core(call, *arrays) == of_torch(call, *arrays)


@pytest.mark.parametrize(
    ("version", "shared"), [("2.4.0", False), ("2.13.2+cpu", False), ("2.14.1", True), ("3.0", True)]
)
def test_which_versions_share(monkeypatch: pytest.MonkeyPatch, version: str, shared: bool) -> None:
    monkeypatch.setattr(metadata, "version", {"torch": version}.__getitem__)
    assert ties_are_shared.__wrapped__() is shared


#: By convention (2.13, 2.14), at x = 1, 2, 3 and bounds of 2: the gradients of x and of the bound.
TIES: dict[str, tuple[list[list[float]], list[list[float]]]] = {
    "a lower tensor": ([[0, 1, 1], [1, 0, 0]], [[0, 0.5, 1], [1, 0.5, 0]]),
    "an upper tensor": ([[1, 1, 0], [0, 0, 1]], [[1, 0.5, 0], [0, 0.5, 1]]),
    "two tensors": ([[0, 1, 0], [0, 0, 0], [0, 0, 1]], [[0, 1, 0], [1, 0, 0], [0, 0, 1]]),
    "two numbers": ([[1, 1, 0]], [[0, 0, 0]]),
    "equal numbers": ([[0, 1, 0]], [[0, 0, 0]]),
    "one number": ([[1, 2, 1]], [[1, 0, 1]]),
    "fmax": ([[0, 1, 1], [1, 0, 0]], [[0, 0.5, 1], [1, 0.5, 0]]),
    "fmin": ([[1, 1, 0], [0, 0, 1]], [[1, 0.5, 0], [0, 0.5, 1]]),
}


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("name", TIES)
def test_either_convention_is_torchs(monkeypatch: pytest.MonkeyPatch, name: str, shared: bool) -> None:
    monkeypatch.setattr("gradcheck.autograd.ops.min_max.ties_are_shared", lambda: shared)
    call, count = CALLS[name]
    assert of_core(call, [1, 2.0, 3], *[[2.0, 2, 2]] * (count - 1)) == TIES[name][shared]


@pytest.mark.parametrize("shared", [False, True])
def test_what_is_no_number_gets_no_gradient(monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
    """Torch 2.14 gives it one."""
    monkeypatch.setattr("gradcheck.autograd.ops.min_max.ties_are_shared", lambda: shared)
    nan = float("nan")
    for name in ("fmax", "fmin"):
        call, _ = CALLS[name]
        assert of_core(call, [nan, 1.0], [1.0, nan]) == [[0, 1], [1, 0]]
