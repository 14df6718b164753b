"""A long chain of small ops, `h = h * 0.5 + x` on (4, 4) float64, forward and backward: the cost of an op itself."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import torch

from benchmarks.timing import Row, race
from gradcheck import Tensor

OPS = 10_000
SHAPE = (4, 4)


def numpy_by_hand(ops: int = OPS) -> np.ndarray:
    x, h = np.ones(SHAPE), np.ones(SHAPE)
    for _ in range(ops // 2):
        h = h * 0.5 + x
    gradient, total = np.ones(SHAPE), np.zeros(SHAPE)
    for _ in range(ops // 2):
        total = total + gradient
        gradient = gradient * 0.5
    return total


def core(ops: int = OPS) -> object:
    x, h = Tensor(np.ones(SHAPE), requires_grad=True), Tensor(np.ones(SHAPE), requires_grad=True)
    for _ in range(ops // 2):
        h = h * 0.5 + x
    h.backward(np.ones(SHAPE))
    return x.grad


def with_torch(ops: int = OPS) -> object:
    x = torch.ones(SHAPE, dtype=torch.float64, requires_grad=True)
    h = torch.ones(SHAPE, dtype=torch.float64, requires_grad=True)
    for _ in range(ops // 2):
        h = h * 0.5 + x
    h.backward(torch.ones(SHAPE, dtype=torch.float64))
    return x.grad


def with_hips(ops: int = OPS) -> object:
    from autograd import elementwise_grad

    def chain(x: object) -> object:
        h = np.ones(SHAPE)
        for _ in range(ops // 2):
            h = h * 0.5 + x  # type: ignore[operator]
        return h

    return elementwise_grad(chain)(np.ones(SHAPE))


def with_mygrad(ops: int = OPS) -> object:
    import mygrad

    x, h = mygrad.tensor(np.ones(SHAPE)), mygrad.tensor(np.ones(SHAPE))
    for _ in range(ops // 2):
        h = h * 0.5 + x
    h.sum().backward()
    return x.grad


def rows() -> list[Row]:
    contestants = {"numpy": numpy_by_hand, "core": core, "torch": with_torch}
    if find_spec("autograd"):
        contestants["HIPS autograd"] = with_hips
    if find_spec("mygrad"):
        contestants["MyGrad"] = with_mygrad
    timing = race(contestants, rounds=11)
    ratio = timing.ratio("core", "torch")
    each = ", ".join(f"{name} {timing.median(name) / OPS * 1e6:.2f}" for name in contestants)
    return [
        Row("chain of 10,000 ops on (4, 4)", f"{ratio:.2f} × torch", "≤ 0.4 × torch", ratio <= 0.4, f"µs an op: {each}")
    ]
