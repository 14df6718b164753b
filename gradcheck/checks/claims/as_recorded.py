"""Ops alone, by what the engines recorded when they evaluated the graph: a look that finds agreement, or nothing.

Each engine pulls the same random gradient through its own record of each op, which needs no second run. That these were
made at each engine's own numbers, a rounding apart, matters at kinks alone, where the numbers must be the same.
An op of which two arguments are one tensor was recorded so, and is asked so.
Whatever does not agree here, or was not recorded as one op, is looked at closely, on the same numbers for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.claims.cotangents import Normal
from gradcheck.checks.closeness.compare import Pair, all_agree
from gradcheck.checks.closeness.tolerance import between_engines
from gradcheck.checks.point import Point
from gradcheck.engines.base import Application, Engine
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun, Shares
from gradcheck.engines.recording import Call, application_of, flat
from gradcheck.language.case import StatedTolerance

#: Dtypes in which sums of gradients may be compared without a thought.
_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))
#: Beyond so many elements the comparison costs, and not the asking.
_MOST = 4_000


_Both: TypeAlias = dict[int, tuple[list[np.ndarray], list[np.ndarray]]]


class Agreeing(NamedTuple):
    """The graph entries that ops stand in, all of which agree but for the `rest`, of which the records do not tell."""

    owners: tuple[str, ...]
    rest: list[Application]


class _Told(NamedTuple):
    """What an engine's record of a point can be asked: the calls through which gradients flow, by number, those of
    them that both records tell of, and a gradient for the result of each of these."""

    flowing: list[int]
    numbers: list[int]
    cotangents: list[np.ndarray]


def as_recorded(point: Point, engine: Engine, run: StatedTolerance | None) -> Agreeing | None:
    """What agrees in the records of the core and the reference; None where they have none, or something differs."""
    both, told, record = _both(point, engine), _told(point, engine), point.record(engine)
    if both is None or told is None or record is None:
        return None
    if engine.name not in point.agreeing_alone and not _all_agree(pairs_alone(point, engine), point, run):
        return None
    rest = [application_of(record.calls[n]) for n in told.flowing if n not in both]
    return Agreeing(tuple(dict.fromkeys([record.calls[n].owner for n in told.flowing])), rest)


def pairs_alone(point: Point, engine: Engine) -> list[Pair] | None:
    """What the records of the core and the reference make of the same, in pairs; None where they have none, or not
    both of everything."""
    both = _both(point, engine)
    if both is None or any(len(one) != len(another) for one, another in both.values()):
        return None
    return [pair for one, another in both.values() for pair in zip(one, another, strict=True)]


def _both(point: Point, engine: Engine) -> _Both | None:
    """By the numbers of calls, what both make of the gradient of the result."""
    key = ("both", engine.name)
    if key not in point.asked:
        got, want = shares(point, engine, engine), shares(point, engine, point.engines.reference)
        told, found = _told(point, engine), None
        if got is not None and want is not None and told is not None:
            asked = zip(told.numbers, got, want, strict=True)
            found = {number: (one, other) for number, one, other in asked if one is not None and other is not None}
        point.asked[key] = found
    return point.asked[key]  # type: ignore[no-any-return]


def shares(point: Point, engine: Engine, asked: Engine) -> list[Shares] | None:
    """What the engine, or the reference, whoever is `asked`, makes of the gradients for the calls that both have
    recorded; asked once. None where there are no records of both."""
    key = ("shares", engine.name, asked.name)
    if key not in point.asked:
        told, record = _told(point, engine), point.record(asked)
        found = None
        if told is not None and record is not None and isinstance(asked, DefineByRun):
            found = asked.through_record([record.calls[n] for n in told.numbers], told.cotangents)
        point.asked[key] = found
    return point.asked[key]  # type: ignore[no-any-return]


def _told(point: Point, engine: Engine) -> _Told | None:
    key = ("told", engine.name)
    if key not in point.asked:
        point.asked[key] = _found_out(point, engine)
    return point.asked[key]  # type: ignore[no-any-return]


def _found_out(point: Point, engine: Engine) -> _Told | None:
    reference = point.engines.reference
    if not isinstance(engine, Core) or not isinstance(reference, DefineByRun) or engine is reference:
        return None
    mine, theirs = point.record(engine), point.record(reference)
    if mine is None or theirs is None or len(mine.calls) != len(theirs.calls):
        return None
    flowing = mine.flowing()
    numbers = [n for n in flowing if _can_tell(mine.calls[n], theirs.calls[n], (engine, reference))]
    source = Normal(point.problem.seed)
    results = [mine.calls[n].result for n in numbers]
    return _Told(flowing, numbers, [source.draw(one.shape).astype(one.dtype, copy=False) for one in results])


def _can_tell(mine: Call, theirs: Call, engines: tuple[DefineByRun, DefineByRun]) -> bool:
    """Whether it is the same call, of one plain result, at numbers that do not matter or are the same."""
    op, result = mine.op, mine.result
    if type(result) is not Tensor or op is not theirs.op:
        return False
    data = result.data
    if data.dtype not in _PLAIN or data.size > _MOST:
        return False
    return op.analytic or not op.kinks or _same_numbers(mine, theirs, engines)


def _same_numbers(mine: Call, theirs: Call, engines: tuple[DefineByRun, DefineByRun]) -> bool:
    """Whether both were given the very same."""
    found = [
        [engine.array(value).tobytes() for value in flat((*call.args, *call.kwargs.values())) if _is_tensor(value)]
        for call, engine in zip((mine, theirs), engines, strict=True)
    ]
    return found[0] == found[1]


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "requires_grad")


def _all_agree(pairs: Sequence[Pair] | None, point: Point, run: StatedTolerance | None) -> bool:
    """Whether all gradients do."""
    stated = point.problem.case.engine_tolerance
    return pairs is not None and all_agree(pairs, lambda want: between_engines(want.dtype, stated, run))
