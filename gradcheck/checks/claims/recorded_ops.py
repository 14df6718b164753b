"""Check ops alone by the engines' own records of the graph's evaluation.

Each engine pulls the same random gradient through its record of each op, without a second run. The records have
numbers that differ by a rounding, which matters at kinks only, so there the numbers must be equal. An op with one
tensor for two arguments is recorded so. This finds agreement only; other ops are compared on the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.claims.cotangents import NormalPool
from gradcheck.checks.closeness.compare import all_agree
from gradcheck.checks.closeness.tolerance import engine_tolerance
from gradcheck.checks.points.point import Point
from gradcheck.engines.base import Application, Engine
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.recording import RecordedCall, application_of, flat
from gradcheck.language.case import StatedTolerance

#: Dtypes in which sums of gradients can be compared directly.
_PLAIN_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))
#: With more elements, the comparison takes longer than the pullback.
_MAX_ELEMENTS = 4_000


class RecordedAgreement(NamedTuple):
    """Owners of ops that agree, and ops without a usable record."""

    owners: tuple[str, ...]
    unrecorded: list[Application]


def compare_recorded(point: Point, engine: Engine, run: StatedTolerance | None) -> RecordedAgreement | None:
    """Return what agrees in both records; None if missing or different."""
    reference = point.engines.reference
    if not isinstance(engine, Core) or not isinstance(reference, DefineByRun) or engine is reference:
        return None
    mine, theirs = point.record(engine), point.record(reference)
    if mine is None or theirs is None or len(mine.calls) != len(theirs.calls):
        return None
    flowing = mine.differentiable_indices()
    numbers = [n for n in flowing if _is_comparable(mine.calls[n], theirs.calls[n], (engine, reference))]
    source = NormalPool(point.problem.seed)
    results = [mine.calls[n].result for n in numbers]
    cotangents = [source.draw(one.shape).astype(one.dtype, copy=False) for one in results]
    got = engine.pull_back_recorded([mine.calls[n] for n in numbers], cotangents)
    want = reference.pull_back_recorded([theirs.calls[n] for n in numbers], cotangents)
    pairs = zip(numbers, got, want, strict=True)
    both = {n: (one, other) for n, one, other in pairs if one is not None and other is not None}
    if not _agree(list(both.values()), point, run):
        return None
    rest = [application_of(mine.calls[n]) for n in flowing if n not in both]
    return RecordedAgreement(tuple(dict.fromkeys([mine.calls[n].owner for n in flowing])), rest)


def _agree(
    both: Sequence[tuple[list[np.ndarray], list[np.ndarray]]], point: Point, run: StatedTolerance | None
) -> bool:
    if any(len(one) != len(another) for one, another in both):
        return False
    stated = point.problem.case.engine_tolerance
    pairs = [pair for one, another in both for pair in zip(one, another, strict=True)]
    return all_agree(pairs, lambda want: engine_tolerance(want.dtype, stated, run))


def _is_comparable(mine: RecordedCall, theirs: RecordedCall, engines: tuple[DefineByRun, DefineByRun]) -> bool:
    """Return whether both are one plain call, at equal numbers near kinks."""
    op, result = mine.op, mine.result
    if type(result) is not Tensor or op is not theirs.op:
        return False
    data = result.data
    if data.dtype not in _PLAIN_DTYPES or data.size > _MAX_ELEMENTS:
        return False
    return op.analytic or not op.kinks or _same_numbers(mine, theirs, engines)


def _same_numbers(mine: RecordedCall, theirs: RecordedCall, engines: tuple[DefineByRun, DefineByRun]) -> bool:
    found = [
        [
            engine.array(value).tobytes()
            for value in flat((*call.args, *call.kwargs.values()))
            if hasattr(value, "requires_grad")
        ]
        for call, engine in zip((mine, theirs), engines, strict=True)
    ]
    return found[0] == found[1]
