"""Ten times the graph in ten times the time: long chains, and one leaf used very often."""

from __future__ import annotations

import numpy as np

from benchmarks import chain
from benchmarks.timing import Row, race
from gradcheck import Tensor


def one_leaf(uses: int) -> object:
    x = Tensor(np.ones((4, 4)), requires_grad=True)
    total = x * 1.0
    for _ in range(uses - 1):
        total = total + x
    total.backward(np.ones((4, 4)))
    return x.grad


def rows() -> list[Row]:
    found = []
    for what, build in (("chain of ops", chain.core), ("uses of one leaf", one_leaf)):
        timing = race(
            {"small": lambda build=build: build(10_000), "large": lambda build=build: build(100_000)}, rounds=5
        )
        ratio = timing.ratio("large", "small")
        details = f"s: {timing.median('small'):.3f}, {timing.median('large'):.3f}"
        found.append(Row(f"100,000 against 10,000 {what}", f"{ratio:.1f} × the time", "≤ 12 ×", ratio <= 12, details))
    return found
