"""Middle-sized and large tensors of float64, from 10,000 to 10,000,000 elements, beside torch on one thread: time, and
the memory that forward and backward take at most.

In a process whose heap is kept, as the command line keeps its own: torch's arrays come from there, too.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import Row, race
from gradcheck import Tensor
from gradcheck.checks.isolation.memory_limit import keep_heap

SIZES = (10**4, 10**5, 10**6, 10**7)
#: What each graph does five times over, to a tensor `h`.
STEPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "h * w + x": lambda h, w, x: h * w + x,
    "tanh(h * w + x)": lambda h, w, x: (h * w + x).tanh(),
    "sigmoid(h) * x - w": lambda h, w, x: h.sigmoid() * x - w,
    "relu(h - w).exp()": lambda h, w, x: (h - w).relu().exp(),
}
TIMES = 5


def core(step: Callable[[Any, Any, Any], Any], size: int) -> Callable[[], object]:
    x, w, seed = Tensor(_drawn(size, 0), requires_grad=True), Tensor(_drawn(size, 1)), np.ones(size)

    def run() -> None:
        h = x
        for _ in range(TIMES):
            h = step(h, w, x)
        x.grad = None
        h.backward(seed)

    return run


def with_torch(step: Callable[[Any, Any, Any], Any], size: int) -> Callable[[], object]:
    import torch

    torch.set_num_threads(1)
    x, w = torch.tensor(_drawn(size, 0), requires_grad=True), torch.tensor(_drawn(size, 1))
    seed = torch.ones(size, dtype=torch.float64)

    def run() -> None:
        h = x
        for _ in range(TIMES):
            h = step(h, w, x)
        x.grad = None
        torch.autograd.backward(h, seed)

    return run


def repeated(run: Callable[[], object], times: int) -> Callable[[], object]:
    """A clock needs something to measure."""
    return lambda: [run() for _ in range(times)]


def _drawn(size: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.5, 0.5, size)


def measure() -> dict[str, dict[str, float]]:
    """By size and graph the ratio of processor times."""
    keep_heap()
    found: dict[str, dict[str, float]] = {}
    for size in SIZES:
        repeats = max(1, 10**5 // size)
        for name, step in STEPS.items():
            runs = {"core": repeated(core(step, size), repeats), "torch": repeated(with_torch(step, size), repeats)}
            timing = race(runs, rounds=9 if size < 10**7 else 5, clock=time.process_time)
            found.setdefault(f"{size:,}", {})[name] = timing.ratio("core", "torch")
    return found


def peak(side: str, name: str) -> int:
    """How many bytes the process holds at most, more than before, at a million elements."""
    make = core if side == "core" else with_torch
    make(STEPS[name], 10)()
    run = make(STEPS[name], 10**6)
    before = _most_held()
    run()
    return _most_held() - before


def _most_held() -> int:
    """The bytes that this process has held at most: what `getrusage` says on Linux begins with what its parent held."""
    status = Path("/proc/self/status")
    if status.exists():
        found = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(found.split()[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def rows() -> list[Row]:
    found = _child("time")
    lines = []
    for size, ratios in found.items():
        mean = statistics.geometric_mean(ratios.values())
        each = ", ".join(f"`{name}` {ratio:.2f}" for name, ratio in ratios.items())
        lines.append(Row(f"{size} elements", f"{mean:.2f} × torch", "≤ 0.9 × torch", mean <= 0.9, each))
    held = {name: [_child(side, name) / 8e6 for side in ("core", "torch")] for name in STEPS}
    mean = statistics.geometric_mean(mine / theirs for mine, theirs in held.values())
    each = ", ".join(f"`{name}` {mine:.0f} and {theirs:.0f}" for name, (mine, theirs) in held.items())
    what, measured = "memory at 1,000,000 elements", f"{mean:.2f} × torch"
    return [*lines, Row(what, measured, "≤ 1.2 × torch", mean <= 1.2, f"arrays held at most, core and torch: {each}")]


def _child(*words: str) -> Any:
    command = [sys.executable, "-m", "benchmarks.middle", *words]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    print(json.dumps(measure() if sys.argv[1] == "time" else peak(*sys.argv[1:3])))
