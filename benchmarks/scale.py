"""Ten times the graph in ten times the time: long chains, and one leaf used very often.

Python's search for cycles walks every object there is, and with torch's half a million it takes as long as 20,000 ops,
once in a long graph and never in a short one. So this is measured in a process without torch, and in one that holds
torch and is set up as the command line sets up its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

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
        timing = race({"small": small, "large": large}, rounds=9, clock=time.process_time)
        found[what] = timing.ratio("large", "small"), timing.median("small"), timing.median("large")
    return found


def rows() -> list[Row]:
    return [*_rows("", 12), *_rows("with torch", 11)]


def _rows(beside: str, promised: float) -> list[Row]:
    command = [sys.executable, "-m", "benchmarks.scale", *beside.split()]
    child = subprocess.run(command, check=True, capture_output=True, text=True)
    return [
        Row(
            f"100,000 against 10,000 {what}{beside and ', '}{beside}",
            f"{ratio:.1f} × the time",
            f"≤ {promised} ×",
            ratio <= promised,
            f"s: {small:.3f}, {large:.3f}",
        )
        for what, (ratio, small, large) in json.loads(child.stdout).items()
    ]


if __name__ == "__main__":
    if "torch" in sys.argv:
        import torch  # noqa: F401

        from gradcheck.cli import tune_garbage_collector

        tune_garbage_collector()
    print(json.dumps(measure()))
