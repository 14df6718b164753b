"""Incoming gradients for ops alone: random and not symmetric, for ones hide transposes, flips and centering."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gradcheck.checks.result import Operation
from gradcheck.engines.base import Application


def operations_of(applications: Sequence[Application], seed: int) -> list[Operation]:
    """Each application with random incoming gradients."""
    source = NormalPool(seed)
    return [
        Operation(application, tuple([output and draw_cotangent(source, *output) for output in application.outputs]))
        for application in applications
    ]


def with_ones(operation: Operation) -> Operation:
    """The same with incoming gradients of ones, for engines to which no others can be given."""
    ones = tuple(None if given is None else np.ones_like(given) for given in operation.cotangents)
    return replace(operation, cotangents=ones)


def is_of_ones(operation: Operation) -> bool:
    """Whether its incoming gradients are ones; random numbers never are."""
    return all(given is None or bool(np.all(given == 1)) for given in operation.cotangents)


class NormalPool:
    """Standard normal numbers, in turn from one pool; making a generator would cost more than most cases' ops."""

    _pool = np.random.Generator(np.random.PCG64(0)).standard_normal(1 << 14)
    _pool.flags.writeable = False

    def __init__(self, seed: int) -> None:
        self._seed, self._next = abs(seed), abs(seed) * 977 % len(self._pool)

    def draw(self, shape: tuple[int, ...]) -> np.ndarray:
        """An array of its own for large shapes, otherwise a view."""
        size = math.prod(shape)
        if size > len(self._pool) // 4:
            self._seed += 1
            return np.random.Generator(np.random.PCG64(self._seed)).standard_normal(shape)
        start = self._next if self._next + size <= len(self._pool) else 0
        self._next = start + size
        return self._pool[start : start + size].reshape(shape)


def draw_cotangent(source: NormalPool, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    drawn = source.draw(shape)
    if dtype.kind == "c":
        drawn = np.asarray(drawn + 1j * source.draw(shape))  # a sum of 0-d arrays is a NumPy scalar, which is no array
    return drawn.astype(dtype, copy=False)
