"""Cases in which all agrees, and which claim nothing themselves. Their comparisons are made when somebody looks at
them: of a run of thousands, hardly anybody does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.claims.as_recorded import as_recorded
from gradcheck.checks.claims.outcomes import place_of
from gradcheck.checks.closeness.compare import name_of
from gradcheck.checks.context import Context
from gradcheck.checks.pipeline import claims_beyond_engines
from gradcheck.checks.point import Point
from gradcheck.checks.result import Comparison, Subject
from gradcheck.engines.base import Engine
from gradcheck.language.case import Case

#: A tensor by its name, with the shape and the dtype of what is compared; None where there is no gradient.
_Tensors: TypeAlias = list[tuple[str, tuple[int, ...] | None, np.dtype | None]]


@dataclass(frozen=True, slots=True)
class _OfEngine:
    """What agrees of one engine: values and gradients after the only step, and all ops of these graph entries."""

    engine: str
    values: _Tensors
    gradients: _Tensors
    owners: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Agreed:
    """What agrees of each engine with the reference."""

    case: Case
    reference: str
    engines: tuple[_OfEngine, ...]

    def comparisons(self) -> Iterator[Comparison]:
        """Those that the stages would make."""
        for one in self.engines:
            for what, tensors in ((ClaimKind.VALUE, one.values), (ClaimKind.GRADIENT, one.gradients)):
                for name, shape, dtype in tensors:
                    subject = self._subject(what, name, one.engine)
                    if shape is None or dtype is None:
                        yield subject.passed()
                    else:
                        yield subject.passed(shape=shape, dtype=name_of(dtype), elements=math.prod(shape))
        for one in self.engines:
            yield from [self._subject(ClaimKind.NODE, owner, one.engine).passed() for owner in one.owners]

    def _subject(self, what: ClaimKind, tensor: str, engine: str) -> Subject:
        return Subject(what, tensor, 0, engine, self.reference, place_of(self.case, tensor))


def agreed(context: Context) -> Agreed | None:
    """What agrees, where that is all there is to say of a case; None where a closer look is due."""
    if context.options.mode == "forward" or claims_beyond_engines(context):
        return None
    own, engines = context.points.own, []
    for engine in context.engines.tested:
        found = _of_engine(own, engine)
        if found is None:
            return None
        engines.append(found)
    return Agreed(context.case, context.engines.reference.name, tuple(engines))


def _of_engine(point: Point, engine: Engine) -> _OfEngine | None:
    if engine.name not in point.agreeing or engine.name not in point.agreeing_alone:
        return None
    got, want = point.evaluation(engine), point.want
    alone = as_recorded(point, engine, None)
    if got.changed or got.error or want.error or alone is None or alone.rest:
        return None
    (mine,), (theirs,) = got.states, want.states
    values, gradients = _both(mine.values, theirs.values), _both(mine.gradients, theirs.gradients)
    if values is None or gradients is None or mine.error or theirs.error or mine.unread or theirs.unread:
        return None
    case = point.problem.case
    computed = [one for one in values if one[0] not in case.inputs and one[0] not in case.constants]
    return _OfEngine(engine.name, computed, gradients, alone.owners)


def _both(got: Mapping[str, np.ndarray | None], want: Mapping[str, np.ndarray | None]) -> _Tensors | None:
    """What both speak of, in their order; None where one has what the other has not."""
    if list(got) != list(want):
        return None
    found: _Tensors = []
    for name, array in want.items():
        if (array is None) != (got[name] is None):
            return None
        found.append((name, None, None) if array is None else (name, array.shape, array.dtype))
    return found
