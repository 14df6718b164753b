"""Cases that are begun together, a few at a time: all of them drawn, then each engine asked about all of them, then the
first stages. A processor has at hand what it has just used, so that this takes half the time of one after another.

What comes of a case is the same: each has a context of its own, which goes through the same stages, and its own
warnings. Only those are begun that ask the core and torch alone, about small tensors, have no limit to their time and
bring no code; what goes wrong meanwhile goes wrong again when the case has its turn, and is told then.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, islice
from typing import NamedTuple

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.claims import operations
from gradcheck.checks.claims.as_recorded import shares
from gradcheck.checks.context import Context
from gradcheck.checks.limits import limit_of
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.pipeline import Begun, advance
from gradcheck.checks.points import OwnPoint
from gradcheck.checks.warned import Ear, heard_by
from gradcheck.engines.base import Engine
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.language.case import Case, Work
from gradcheck.language.evaluation.evaluate import program
from gradcheck.language.expr.nodes import Call

#: So many cases are begun together, as long as their tensors have no more elements, those of the graphs included.
MOST, ELEMENTS = 512, 1 << 17
#: Engines whose answers depend on nothing but the problem, by module and name: what is made of them may do more.
_PLAIN = frozenset({("gradcheck.engines.core", "Core"), ("gradcheck.engines.torch", "Torch")})


class _Beginning(NamedTuple):
    """A case that may be begun."""

    case: Case
    options: Options
    engines: Engines
    begun: Begun
    dtype: np.dtype  # what holds while it is checked: what numbers without a dtype take


def begun_together(work: Sequence[Work], options: Options, engines: Engines) -> Iterator[tuple[Work, Begun | None]]:
    """Each item with what is begun of it, if anything is."""
    rest = iter(work)
    limited = bool(options.overridden("memory"))
    while items := list(islice(rest, MOST)):
        found = {} if limited else dict(_beginnings(items, options, engines))
        if len(found) > 1:
            _begin(list(found.values()))
        pairs = deque((item, found[at].begun if at in found else None) for at, item in enumerate(items))
        found.clear()
        while pairs:
            yield pairs.popleft()


def _beginnings(items: Iterable[Work], options: Options, engines: Engines) -> Iterator[tuple[int, _Beginning]]:
    """Those that may be begun, by their places."""
    for at, item in enumerate(items):
        if isinstance(item, Case) and item.skip is None and not item.implementations:
            chosen = options.of(item)
            theirs = engines.of(chosen)
            asked = theirs.only(item.only)
            plain = all(map(_is_plain, asked.all)) and limit_of(chosen.timeout, theirs.tested) is None
            if asked.tested and plain and not any(_draws(claim.expr) for claim in item.graph.values()):
                dtype = dtypes.real_of(dtypes.BY_NAME[chosen.apply(item).dtype])
                yield at, _Beginning(item, chosen, theirs, Begun(), dtype)


def _is_plain(engine: Engine) -> bool:
    kind = type(engine)
    return (kind.__module__, kind.__name__) in _PLAIN and getattr(engine, "device", None) is None


def _draws(expr: object) -> bool:
    """Whether an expression draws numbers."""
    called = (what.op for kind, what, _ in program(expr) if kind is Call)  # type: ignore[arg-type]
    return any(parameter.name == "generator" for op in called for parameter in op.parameters)


def _begin(several: list[_Beginning]) -> None:
    """Draw all, ask each engine about all, and take all through the first stages."""
    ear = Ear([])
    with heard_by(ear), quiet():
        left = _each(several, _drawn, ear, ELEMENTS)
        places = max((len(one.engines.all) for one in left), default=0)
        for place in range(places):
            left = _each(left, partial(_forward, place), ear, ELEMENTS)
            left = _each(left, partial(_evaluated, place), ear, ELEMENTS)
        left = _each(left, _advanced, ear, ELEMENTS)
        for place in range(places):
            left = _each(left, partial(_asked, place), ear, ELEMENTS)
        left = _each(left, _advanced, ear, ELEMENTS)
        _each(left, _let_go, ear, ELEMENTS)


def _each(several: list[_Beginning], take: Callable[[_Beginning], int], ear: Ear, room: int) -> list[_Beginning]:
    """Those that could be taken a step further; all others stay where they are, or have to begin anew. A step says how
    many elements it has looked at, and there is room for so many."""
    left = []
    for dtype, alike in groupby(several, lambda one: one.dtype):
        with using_default_dtype(dtype):
            for one in alike:
                ear.told, start = one.begun.warned, time.perf_counter()
                try:
                    room -= take(one)
                except Exception:  # which is told when the case has its turn
                    one.begun.context = None
                else:
                    left.append(one)
                one.begun.seconds += time.perf_counter() - start
                if room < 0:
                    return left
    return left


def _drawn(one: _Beginning) -> int:
    one.begun.context = context = Context.of(one.case, one.options, one.engines)
    problem = context.points.own.problem
    return _elements((*problem.inputs.values(), *problem.constants.values()))


def _forward(place: int, one: _Beginning) -> int:
    context = one.begun.context
    assert context is not None
    engines, own = context.engines.all, context.points.own
    if place >= len(engines) or not isinstance(engine := engines[place], DefineByRun):
        return 0
    return own.begin(engine) if isinstance(own, OwnPoint) else 0


def _evaluated(place: int, one: _Beginning) -> int:
    context = one.begun.context
    assert context is not None
    if place < len(context.engines.all):
        context.points.own.evaluation(context.engines.all[place])
    return 0


def _asked(place: int, one: _Beginning) -> int:
    """What ops alone come to (`as_recorded`), by one engine after the other."""
    context = one.begun.context
    assert context is not None
    every = context.engines.all
    if place < len(every) and operations.applies(context):
        for engine in context.engines.tested:
            if every[place] in (engine, context.engines.reference):
                shares(context.points.own, engine, every[place])
    return 0


def _advanced(one: _Beginning) -> int:
    context = one.begun.context
    assert context is not None
    advance(one.begun, context)
    return 0


def _let_go(one: _Beginning) -> int:
    """The reference's graph, which is asked nothing more where all agrees."""
    context = one.begun.context
    assert context is not None
    own = context.points.own
    if isinstance(own, OwnPoint) and all(found.status == "passed" for found in context.found):
        own.let_go(context.engines.reference)
    return 0


def _elements(arrays: Iterable[np.ndarray]) -> int:
    return sum(array.size for array in arrays)
