"""Check code without a specification: its backward against its forward.

The backward is compared with torch's gradient of the forward, if torch differentiates it, and with finite differences
(`finite_difference_check`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.closeness.tolerance import base
from gradcheck.checks.context import Context
from gradcheck.checks.implementations import behaviour
from gradcheck.checks.implementations.code_gradient import CodeGradient
from gradcheck.checks.implementations.code_noise import CodeNoise, ignores_small_changes, is_less_precise
from gradcheck.checks.implementations.finite_difference_check import DIFFERENCES, compare_with_differences
from gradcheck.checks.implementations.second_order import check_second_order
from gradcheck.checks.implementations.self_consistency_points import SelfConsistencyPoints
from gradcheck.checks.implementations.standalone_diagnosis import diagnose_standalone
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.points.drawing import Points
from gradcheck.checks.points.point import Point, Refusal, narrower_domain
from gradcheck.checks.result import Comparison, Subject
from gradcheck.engines.base import Evaluation
from gradcheck.facts import fact
from gradcheck.language.case import Case
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.trial_draws import with_trials

if TYPE_CHECKING:
    from gradcheck.engines.implementation.code_engine import CodeEngine

#: At how many points a gradient has to be wrong to be asked no more; one needs differences of all elements.
_ENOUGH = 3


def check_self_consistency(
    case: Case, engine: CodeEngine, forward_engine: CodeEngine | None, options: Options
) -> Context:
    """Check the code at the case's inputs and at other points.

    The context's reference is the `forward_engine`, the forward alone, or the code itself without one.
    """
    dtype = dtypes.BY_NAME[case.dtype]
    with using_default_dtype(dtypes.real_of(dtype)), quiet(), ExitStack() as sessions:
        for one in (engine, forward_engine):
            if one is not None:
                sessions.enter_context(one.session(dtype))
        return _checked(case, engine, forward_engine, options)


def _checked(case: Case, engine: CodeEngine, forward_engine: CodeEngine | None, options: Options) -> Context:
    engines = Engines((engine,), forward_engine or engine)
    refusals: list[Refusal] = []
    drawn = SelfConsistencyPoints(with_trials(case), engine, engines, refusals).all()
    points = [next(drawn)]
    if forward_engine is not None and not _is_recorded(points[0], engine, forward_engine):
        return _checked(case, engine, None, options)
    points += drawn
    own = Points(points[0].problem, engines)
    own.own = points[0]
    own.variants = points[1:]
    context = Context(points[0].problem.case, options, engines, own)
    noise = CodeNoise(engine, forward_engine)
    failures: Counter[str] = Counter()
    for point in points:
        known = {name for name, count in failures.items() if count >= _ENOUGH}
        compared = list(_compared(point, noise, known))
        failures.update(c.tensor for c in compared if c.status == "failed")
        context.found += compared
    if not points[0].problem.seeds[0]:  # the code raises for the given inputs
        return context
    enough = np.all if forward_engine is None else np.any  # differences need finite results alone
    subject = Subject(ClaimKind.CODE, engine.entry, 0, engine.name, DIFFERENCES)
    has_elements = any(c.elements for c in context.found)
    if not failures and not (has_elements and any(_is_finite(point, engine, enough) for point in points)):
        context.found.append(subject.failed(fact("nothing_compared", engine=engine.name)))
    own_tolerance = case.engine_tolerance
    stated = own_tolerance is not None and (own_tolerance.rtol or 0.0) > base(points[0].problem.dtype).rtol
    if not stated and is_less_precise(engine, points[0]) and ignores_small_changes(engine, points[0]):
        context.found.append(subject.failed(fact("less_precise", engine=engine.name, dtype=case.dtype)))
    if any(c.status == "failed" for c in context.found):
        context.found = behaviour.check_determinism(context, engine) or context.found
        diagnose_standalone(context, engine)
        return context
    context.found += check_second_order(context, engine)
    context.found += behaviour.check(context, engine, CodeNoise(engine))
    if refusals:
        context.found[-1] = context.found[-1].with_notes(narrower_domain(engine, refusals))
    return context


def _is_recorded(point: Point, engine: CodeEngine, forward_engine: CodeEngine) -> bool:
    """Return whether torch records the forward: all gradients arrive by it."""
    forward = _gradients(point.evaluation(forward_engine))
    return all(g is None or forward.get(name) is not None for name, g in _gradients(point.evaluation(engine)).items())


def _compared(point: Point, noise: CodeNoise, known: Collection[str]) -> Iterator[Comparison]:
    """Compare the gradients at a point, except for those known to be wrong."""
    engine, forward_engine = noise.engine, noise.forward_engine
    got = point.evaluation(engine)
    error = got.error or next((state.error for state in got.states if state.error), None)
    if error is not None:
        subject = Subject(ClaimKind.CODE, engine.entry, 0, engine.name, DIFFERENCES, trial=point.trial)
        yield subject.failed(fact("said", text=error.message))
        return
    forward = _gradients(point.evaluation(forward_engine)) if forward_engine is not None else {}
    claims = [
        (CodeGradient(point, engine, name, gradient, noise), forward.get(name))
        for name, gradient in _gradients(got).items()
        if name in point.problem.inputs and name not in known
    ]
    yield from compare_with_differences(claims) if claims else ()


def _is_finite(point: Point, engine: CodeEngine, enough: Callable[..., Any]) -> bool:
    """Return whether all results are finite numbers, or `any` are."""
    values = point.evaluation(engine).states[0].values
    return bool(enough([enough(np.isfinite(dtypes.wide(values[root]))) for root in point.problem.seeds[0]]))


def _gradients(evaluation: Evaluation) -> Mapping[str, np.ndarray | None]:
    return evaluation.states[0].gradients if evaluation.states and not evaluation.error else {}
