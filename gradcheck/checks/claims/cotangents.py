"""Random, unsymmetric cotangents for ops alone.

Cotangents of ones would hide transposes, flips and centering.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from gradcheck.checks.result import Operation
from gradcheck.engines.base import Application
from gradcheck.engines.recording import arrays


def operations_of(applications: Sequence[Application], seed: int) -> list[Operation]:
    """Return each application with random cotangents."""
    source = NormalPool(seed)
    drawn = [[output and draw_cotangent(source, *output) for output in one.outputs] for one in applications]
    return [Operation(one, tuple(_unlike_operands(one, given))) for one, given in zip(applications, drawn, strict=True)]


def _unlike_operands(application: Application, cotangents: Sequence[np.ndarray | None]) -> Iterator[np.ndarray | None]:
    """Yield cotangents whose signs are not an operand's, if there is a kink.

    A mask by the wrong one of the two would be right."""
    is_kinked = application.op.elementwise and bool(application.op.kinks)
    operands = list(arrays(application.args, application.kwargs)) if is_kinked else []
    for one in cotangents:
        turns = one is not None and any(_have_equal_signs(one, operand) for operand in operands)
        yield np.asarray(-one) if turns and one is not None else one  # `-one` of a 0-d array is a NumPy scalar


def _have_equal_signs(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and {a.dtype.kind, b.dtype.kind} == {"f"} and np.array_equal(a > 0, b > 0)


def with_ones(operation: Operation) -> Operation:
    """Return it with cotangents of ones, for engines that take no others."""
    ones = tuple(None if given is None else np.ones_like(given) for given in operation.cotangents)
    return replace(operation, cotangents=ones)


def is_of_ones(operation: Operation) -> bool:
    """Return whether all cotangents are ones; random ones never are."""
    return all(given is None or bool(np.all(given == 1)) for given in operation.cotangents)


class NormalPool:
    """Standard normal numbers from one pool, cheaper than a generator."""

    _pool = np.random.Generator(np.random.PCG64(0)).standard_normal(1 << 14)
    _pool.flags.writeable = False

    def __init__(self, seed: int) -> None:
        self._seed, self._next = abs(seed), abs(seed) * 977 % len(self._pool)

    def draw(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return a view into the pool; for large shapes a new array."""
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
        drawn = np.asarray(drawn + 1j * source.draw(shape))  # a sum of 0-d arrays is a NumPy scalar, not an array
    return drawn.astype(dtype, copy=False)
