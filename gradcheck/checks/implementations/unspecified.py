"""Code without a specification: its backward is held to its own forward.

The witnesses are its forward differentiated by torch, where torch goes through it, and differences in both directions
with error bars (`by_differences`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.context import Context
from gradcheck.checks.implementations import behaviour
from gradcheck.checks.implementations.by_differences import DIFFERENCES, OwnGradient, judged
from gradcheck.checks.implementations.explain import explain
from gradcheck.checks.implementations.own_noise import OwnNoise
from gradcheck.checks.implementations.second import of_second_order_too
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.points import Point, Points
from gradcheck.checks.result import Comparison, Subject, Trial
from gradcheck.engines.base import Evaluation
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.case import Case, Generalize, Step
from gradcheck.language.problem import Problem
from gradcheck.language.random import stream
from gradcheck.language.sampling import draw
from gradcheck.language.trials import PLAIN, Variation

if TYPE_CHECKING:
    from gradcheck.engines.implementation.engine import Implementation

#: The points: the given one, then what a trial draws, and how what is written out is moved.
_DRAWN: tuple[tuple[int | None, Variation], ...] = (
    (None, PLAIN),
    (0, Variation("near")),
    (1, Variation("anywhere")),
    (2, PLAIN),
    (None, Variation("near", structure="whole")),
    (None, Variation("near", structure="huge")),
)


def check_alone(case: Case, engine: Implementation, witness: Implementation | None, options: Options) -> Context:
    """All that is found of the code at the case's inputs, and at others that are drawn; the graph says nothing.

    The context's reference is the witness, or the code itself where it has none.
    """
    dtype = dtypes.BY_NAME[case.dtype]
    with using_default_dtype(dtypes.real_of(dtype)), quiet():
        general = replace(case, generalize=Generalize())
        engines = Engines((engine,), witness or engine)
        points = list(_points(general, engine, engines))
        own = Points(points[0].problem, engines)
        own.own = points[0]
        own.others = points[1:]
        context = Context(points[0].problem.case, options, engines, own)
        noise = OwnNoise(engine, witness)
        for point in points:
            context.found += _compared(point, noise)
        if any(c.status == "failed" for c in context.found):
            explain(context, engine)
            return context
        context.found += of_second_order_too(context, engine)
        context.found += behaviour.check(context, engine, OwnNoise(engine))
        return context


def _points(case: Case, engine: Implementation, engines: Engines) -> Iterator[Point]:
    """The inputs as they are given, then drawn, each under a random incoming gradient. What cannot be evaluated there
    is left out, but for the first."""
    for number, (trial, variation) in enumerate(_DRAWN):
        try:
            problem = draw(replace(case, steps=()), case.seed, trial, variation=variation)
        except GradcheckError:
            continue
        asked = _asked(problem, engine, is_given=not number)
        if asked is not None:
            kept = Trial(number, problem.seed, problem.sizes, problem=asked) if number else None
            yield Point(asked, engines, kept)
        elif not number:
            raise GradcheckError(f"{engine.name} cannot be evaluated")


def _asked(problem: Problem, engine: Implementation, is_given: bool) -> Problem | None:
    """The problem with a random incoming gradient for each result; None where the code raises."""
    values = engine.values_alone(problem)
    own = {n: a for n, a in values.items() if n.partition("[")[0] == engine.entry and dtypes.is_differentiable(a.dtype)}
    generator = stream(problem.seed, "incoming", problem.drawn.trial or 0)
    seeds = {
        name: np.asarray(generator.standard_normal(array.shape)).astype(array.dtype) for name, array in own.items()
    }
    finite = all(np.isfinite(dtypes.wide(array)).all() for array in own.values())
    if not seeds or not (finite or is_given):
        return None
    case = replace(problem.case, steps=(Step("backward", roots=dict.fromkeys(seeds)),))
    return replace(problem, case=case, seeds=(seeds,), forwards=({},))


# One point -------------------------------------------------------------------------------------------------


def _compared(point: Point, noise: OwnNoise) -> Iterator[Comparison]:
    engine, witness = noise.engine, noise.witness
    got = point.evaluation(engine)
    error = got.error or next((state.error for state in got.states if state.error), None)
    if error is not None:
        subject = Subject(ClaimKind.CODE, engine.entry, 0, engine.name, DIFFERENCES, trial=point.trial)
        yield subject.failed(fact("said", text=error.message))
        return
    forward = _gradients(point.evaluation(witness)) if witness is not None else {}
    for name, gradient in _gradients(got).items():
        if name in point.problem.inputs:
            yield judged(OwnGradient(point, engine, name, gradient, noise), forward.get(name))


def _gradients(evaluation: Evaluation) -> Mapping[str, np.ndarray | None]:
    return evaluation.states[0].gradients if evaluation.states and not evaluation.error else {}
