"""Explain a wrong gradient by the shape that a backward returns.

torch sums a larger gradient to its argument's shape. A gradient that is summed already is counted several times then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.checks.failures.correction.computed_formula import EvidenceAtPoints
from gradcheck.checks.result import Diagnosis
from gradcheck.facts import Fact, fact
from gradcheck.language.problem import Problem

if TYPE_CHECKING:
    from gradcheck.engines.implementation.code_engine import CodeEngine


def summed_again(engine: CodeEngine, seen: EvidenceAtPoints) -> tuple[Diagnosis, ...]:
    """Return whether each slice of a larger returned gradient is right."""
    found: list[Fact] = []
    for point, evidence in seen if engine.observations.summed_gradients else ():
        right = [what for what, part in _slices(engine, point.problem) if evidence.agree(part, evidence.want)]
        if not right:
            return ()
        found += right[:1]
    if not found:
        return ()
    points = fact("computed_at_points", points=len(seen))
    got, want, axes = (found[0][name] for name in ("got", "want", "axes"))
    return (Diagnosis("summed", fact("returned_is_right", got=got, want=want, axes=axes), "confirmed", points),)


def summed_note(engine: CodeEngine, name: str) -> tuple[Fact, ...]:
    """Return a note on a larger gradient that was returned for an input."""
    known = engine.observations.summed_gradients.get(name)
    return () if known is None else (known[0],)


def _slices(engine: CodeEngine, problem: Problem) -> Iterator[tuple[Fact, np.ndarray]]:
    """Yield the first slices of larger gradients along the summed axes."""
    kept = engine.observations.summed_gradients
    first = dict(kept)
    kept.clear()
    engine.evaluate(problem)
    for what, array in list(kept.values()):
        index = tuple(0 if axis in what["axes"] else slice(None) for axis in range(array.ndim))
        yield what, array[index].reshape(what["want"])
    kept.clear()
    kept.update(first)
