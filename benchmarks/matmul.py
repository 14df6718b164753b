"""Four large matrices chained, forward and backward: the core must add nothing to NumPy's own time."""

from __future__ import annotations

import numpy as np
import torch

from benchmarks.timing import Row, race
from gradcheck import Tensor

SIZE = 1024


def rows() -> list[Row]:
    generator = np.random.default_rng(0)
    arrays = [generator.standard_normal((SIZE, SIZE)) for _ in range(4)]
    seed = np.ones((SIZE, SIZE))
    timing = race(
        {
            "numpy": lambda: by_hand(arrays, seed),
            "core": lambda: core(arrays, seed),
            "torch": lambda: with_torch(arrays, seed),
        },
        rounds=9,
    )
    ratio = timing.ratio("core", "numpy")
    each = ", ".join(f"{name} {timing.median(name) * 1e3:.0f}" for name in ("numpy", "core", "torch"))
    return [
        Row("four 1024×1024 float64 matrices", f"{ratio:.2f} × NumPy", "≤ 1.05 × NumPy", ratio <= 1.05, f"ms: {each}")
    ]


def by_hand(arrays: list[np.ndarray], seed: np.ndarray) -> tuple[np.ndarray, ...]:
    a, b, c, d = arrays
    ab = a @ b
    abc = ab @ c
    _ = abc @ d
    gradient_abc = seed @ d.T
    gradient_ab = gradient_abc @ c.T
    return gradient_ab @ b.T, a.T @ gradient_ab, ab.T @ gradient_abc, abc.T @ seed


def core(arrays: list[np.ndarray], seed: np.ndarray) -> object:
    a, b, c, d = (leaf(array) for array in arrays)
    (a @ b @ c @ d).backward(seed)
    return a.grad


def leaf(array: np.ndarray) -> Tensor:
    return Tensor(array, requires_grad=True)


def with_torch(arrays: list[np.ndarray], seed: np.ndarray) -> object:
    a, b, c, d = (torch.tensor(array, requires_grad=True) for array in arrays)
    (a @ b @ c @ d).backward(torch.tensor(seed))
    return a.grad
