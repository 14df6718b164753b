"""Cases on their way together: all of them drawn, then each engine asked about all of them, then the first stages. A
processor has at hand what it has just used; and what costs something to begin with, one of torch's backward passes or a
comparison, is begun once for a few.

Each case has a context of its own, which goes through the same stages, and its own warnings.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import TypeAlias

import numpy as np

from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.agreed import agreed
from gradcheck.checks.claims.as_recorded import pairs_alone, shares
from gradcheck.checks.claims.engines import both_have
from gradcheck.checks.closeness.compare import Pair, each_agrees
from gradcheck.checks.closeness.tolerance import base
from gradcheck.checks.context import Context
from gradcheck.checks.expected_failure import judged
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.pipeline import Begun, advance, is_done, own_fields
from gradcheck.checks.point import OwnPoint, Point
from gradcheck.checks.result import CaseResult
from gradcheck.checks.warned import Ear, heard_by
from gradcheck.engines.base import Engine
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.graph_run import GraphRun
from gradcheck.language.case import Case

#: Cases are begun together as long as their tensors have no more elements, those of the graphs included.
ELEMENTS = 1 << 17
#: So many graphs are passed backwards in one pass.
AT_ONCE = 16

#: What makes a result of what is begun.
Finish: TypeAlias = Callable[[Case, Options, Engines, Begun], CaseResult]


class Beginning:
    """A case that may be begun. `dtype` is what holds while it is checked: what numbers without a dtype take."""

    __slots__ = ("begun", "case", "dtype", "engines", "options")

    def __init__(self, case: Case, options: Options, engines: Engines, dtype: np.dtype) -> None:
        self.case, self.options, self.engines, self.dtype = case, options, engines, dtype
        self.begun = Begun()

    @property
    def context(self) -> Context:
        """Its context, once it is drawn."""
        context = self.begun.context
        assert context is not None
        return context

    def engine(self, place: int) -> Engine | None:
        """The engine of this place among those that are asked."""
        every = self.context.engines.all
        return every[place] if place < len(every) else None


def begin(several: Sequence[Beginning], dtype: np.dtype, finish: Finish | None) -> None:
    """Draw all, ask each engine about all, and take all through the first stages; `finish` those that agree throughout
    and claim nothing."""
    ear = Ear([])
    with heard_by(ear), quiet(), using_default_dtype(dtype):
        left = _each(several, _drawn, ear)
        places = range(max((len(one.context.engines.all) for one in left), default=0))
        for place in places:
            left = _each(left, partial(_forward, place), ear)
            _pass(left, place, ear)
            left = _each(left, partial(_evaluated, place), ear)
        _look(left, _evaluations, lambda point: point.agreeing)
        for place in places:
            left = _each(left, partial(_asked, place), ear)
        _look(left, pairs_alone, lambda point: point.agreeing_alone)
        if finish is not None:
            left = [one for one in _each(left, _agreed, ear) if one.begun.result is None]
        for _ in range(3):
            left = _each(left, _advanced, ear)
        left = _each(left, _let_go, ear)
        if finish is not None:
            _each([one for one in left if is_done(one.begun)], partial(_finished, finish), ear)


def _each(several: Iterable[Beginning], take: Callable[[Beginning], int], ear: Ear) -> list[Beginning]:
    """Those that could be taken a step further; all others stay where they are, or have to begin anew. A step says how
    many elements it has looked at, and there is room for so many."""
    left, room, last = [], ELEMENTS, time.perf_counter()
    for one in several:
        begun = one.begun
        ear.told = begun.warned
        try:
            room -= take(one)
        except Exception:  # which is told when the case has its turn
            begun.context = None
        else:
            left.append(one)
        now = time.perf_counter()
        begun.seconds += now - last
        last = now
        if room < 0:
            break
    return left


# Steps -----------------------------------------------------------------------------------------------


def _drawn(one: Beginning) -> int:
    one.begun.context = context = Context.of(one.case, one.options, one.engines)
    problem = context.points.own.problem
    return sum([array.size for array in (*problem.inputs.values(), *problem.constants.values())])


def _forward(place: int, one: Beginning) -> int:
    engine, own = one.engine(place), one.context.points.own
    return own.begin(engine) if isinstance(engine, DefineByRun) and isinstance(own, OwnPoint) else 0


def _evaluated(place: int, one: Beginning) -> int:
    engine = one.engine(place)
    if engine is not None:
        one.context.points.own.evaluation(engine)
    return 0


def _asked(place: int, one: Beginning) -> int:
    """What ops alone come to (`as_recorded`), by one engine after the other."""
    context, asked = one.context, one.engine(place)
    if asked is not None and context.options.mode != "forward":
        for engine in context.engines.tested:
            if asked in (engine, context.engines.reference):
                shares(context.points.own, engine, asked)
    return 0


def _agreed(one: Beginning) -> int:
    """The result of a case in which all agrees, and of which there is no more to say."""
    if (known := agreed(one.context)) is not None:
        case, begun = known.case, one.begun
        begun.context = None  # which is all that it has computed
        own = own_fields(case, one.options)
        found = CaseResult.agreeing(
            known.comparisons, **own, case=case, seconds=begun.seconds, warnings=tuple(begun.warned)
        )
        begun.result = judged(found, case, one.options.today)
    return 0


def _advanced(one: Beginning) -> int:
    advance(one.begun, one.context)
    return 0


def _let_go(one: Beginning) -> int:
    """The reference's graph, which is asked nothing more where all agrees."""
    context = one.context
    own = context.points.own
    if isinstance(own, OwnPoint) and {found.status for found in context.found} == {"passed"}:
        own.let_go(context.engines.reference)
    return 0


def _finished(finish: Finish, one: Beginning) -> int:
    one.begun.result = finish(one.case, one.options, one.engines, one.begun)
    return 0


# A few at once ---------------------------------------------------------------------------------------


def _pass(several: Iterable[Beginning], place: int, ear: Ear) -> None:
    """Take the backward passes of what one engine has begun, a few of them in one."""
    begun = [found for one in several if (found := _begun(one, place)) is not None]
    for (engine, _), alike in groupby(begun, lambda found: (found[0], found[1].problem.dtype)):
        runs = [run for _, run in alike]
        for start in range(0, len(runs), AT_ONCE):
            _pass_together(engine, runs[start : start + AT_ONCE], ear)


def _begun(one: Beginning, place: int) -> tuple[DefineByRun, GraphRun] | None:
    engine, own = one.engine(place), one.context.points.own
    if not isinstance(engine, DefineByRun) or not isinstance(own, OwnPoint):
        return None
    run = own.begun(engine)
    return None if run is None else (engine, run)


def _pass_together(engine: DefineByRun, runs: Sequence[GraphRun], ear: Ear) -> None:
    """Where one of them raises, or warns of something, each takes its own pass when it is evaluated."""
    ear.told = []
    try:
        engine.pass_together(runs)
        failed = bool(ear.told)
    except Exception:  # which is told when the case has its turn
        failed = True
    if failed:
        for run in runs:
            run.take_back()


def _look(
    several: Iterable[Beginning],
    pairs_of: Callable[[Point, Engine], Sequence[Pair] | None],
    agreeing: Callable[[Point], set[str]],
) -> None:
    """Compare what two engines say of all, where no tolerance is stated, and note whose agrees."""
    asked: list[tuple[set[str], str]] = []
    pairs: list[Sequence[Pair]] = []
    for one in several:
        context = one.context
        if context.case.engine_tolerance is None and context.options.tolerance is None:
            for engine in context.engines.tested:
                if found := pairs_of(context.points.own, engine):
                    asked.append((agreeing(context.points.own), engine.name))
                    pairs.append(found)
    for (known, name), holds in zip(asked, each_agrees(pairs, lambda want: base(want.dtype)), strict=True):
        if holds:
            known.add(name)


def _evaluations(point: Point, engine: Engine) -> list[Pair]:
    return both_have(point.evaluation(engine), point.want)
