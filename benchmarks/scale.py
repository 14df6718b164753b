"""Ten times the graph in ten times the time: long chains, and one leaf used very often.

Measured in a process without torch: Python's search for cycles walks every object there is, and with torch's half a
million it takes as long as 20,000 ops, once in a long graph and never in a short one.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from benchmarks.timing import Row, race
from gradcheck import Tensor


def chain(ops: int) -> object:
    x, h = Tensor(np.ones((4, 4)), requires_grad=True), Tensor(np.ones((4, 4)), requires_grad=True)
    for _ in range(ops // 2):
        h = h * 0.5 + x
    h.backward(np.ones((4, 4)))
    return x.grad


def one_leaf(uses: int) -> object:
    x = Tensor(np.ones((4, 4)), requires_grad=True)
    total = x * 1.0
    for _ in range(uses - 1):
        total = total + x
    total.backward(np.ones((4, 4)))
    return x.grad


GRAPHS = {"chain of ops": chain, "uses of one leaf": one_leaf}


def measure() -> dict[str, tuple[float, float, float]]:
    """For each graph the ratio, and the seconds of the small and of the large one."""
    found = {}
    for what, build in GRAPHS.items():
        small, large = (lambda build=build, size=size: build(size) for size in (10_000, 100_000))
        timing = race({"small": small, "large": large}, rounds=9)
        found[what] = timing.ratio("large", "small"), timing.median("small"), timing.median("large")
    return found


def rows() -> list[Row]:
    child = subprocess.run([sys.executable, "-m", "benchmarks.scale"], check=True, capture_output=True, text=True)
    return [
        Row(
            f"100,000 against 10,000 {what}",
            f"{ratio:.1f} × the time",
            "≤ 12 ×",
            ratio <= 12,
            f"s: {small:.3f}, {large:.3f}",
        )
        for what, (ratio, small, large) in json.loads(child.stdout).items()
    ]


if __name__ == "__main__":
    print(json.dumps(measure()))
