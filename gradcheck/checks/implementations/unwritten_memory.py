"""Find elements that code returns and never writes.

They hold what was in memory before, which may be the right numbers of an earlier call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.checks.implementations.code_noise import tensors_of
from gradcheck.checks.points.point import Point
from gradcheck.facts import Fact, fact

if TYPE_CHECKING:
    from gradcheck.engines.implementation.code_engine import CodeEngine


def unwritten_tensors(engine: CodeEngine, point: Point) -> tuple[str, ...]:
    """Return the tensors with elements that the code does not write."""
    if not engine.code.is_torch:
        return ()
    before, after = tensors_of(point.evaluation(engine)), tensors_of(engine.evaluate_with_nan_memory(point.problem))
    found = {key: (array, before[key]) for key, array in after.items() if key in before}
    nan = {name: _is_nan_instead(*pair) for (_, _, name), pair in found.items()}
    return tuple(name for name, is_nan in nan.items() if is_nan)


def _is_nan_instead(now: np.ndarray, before: np.ndarray) -> bool:
    return now.shape == before.shape and bool(np.any(np.isnan(now) & ~np.isnan(before)))


def unwritten_at(engine: CodeEngine, points: Iterable[Point]) -> tuple[Point, Fact] | None:
    """Return the first point with unwritten elements, and the fact; or None."""
    for point in points:
        names = unwritten_tensors(engine, point)
        if names:
            return point, fact("not_written", engine=engine.name, names=names)
    return None
