"""Drawn points at which tested code raises.

Code may have a narrower domain than its entry: an assertion about numbers, a size that is a multiple of a block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gradcheck.checks.points.point import Point
from gradcheck.engines.base import Engine
from gradcheck.facts import Fact, fact


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error of code at a drawn point, and the sizes there."""

    text: str
    sizes: Mapping[str, int]


def refusal_at(point: Point, engine: Engine) -> Refusal | None:
    """Return the exception that code raises at a point, forward or backward."""
    found = point.evaluation(engine)
    error = found.error or next((state.error for state in found.states if state.error), None)
    return Refusal(error.message, point.problem.sizes) if error is not None and error.kind == "code_raised" else None


def narrower_domain(engine: Engine, refusals: Sequence[Refusal]) -> Fact:
    """Return the fact that the code is not checked at these points."""
    first = refusals[0]
    sizes = tuple(f"{word} = {size}" for word, size in first.sizes.items())
    return fact("narrower_domain", engine=engine.name, count=len(refusals), text=first.text, sizes=sizes)
