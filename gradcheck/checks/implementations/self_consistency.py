"""Check code without a specification: its backward against its forward.

The backward is compared with torch's gradient of the forward, if torch differentiates it, and with finite differences
(`finite_difference_check`). Of wrong code, the traced forward becomes the specification where it has the code's values,
and the derivative that refuted the code; else the reference is the forward's gradient by torch, or by differences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.closeness.tolerance import base
from gradcheck.checks.context import Context
from gradcheck.checks.implementations import behaviour
from gradcheck.checks.implementations.code_diagnosis import diagnose_code
from gradcheck.checks.implementations.code_gradient import CodeGradient, DifferencesEngine
from gradcheck.checks.implementations.code_noise import CodeNoise, ignores_small_changes, is_less_precise
from gradcheck.checks.implementations.finite_difference_check import DIFFERENCES, compare_with_differences
from gradcheck.checks.implementations.second_order import check_second_order
from gradcheck.checks.implementations.self_consistency_points import SelfConsistencyPoints
from gradcheck.checks.isolation.failure_capture import try_part
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.points.drawing import Points
from gradcheck.checks.points.point import Point, Refusal, narrower_domain
from gradcheck.checks.result import Comparison, Subject
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.engines.implementation.code_kinds import Code, differentiable_forward
from gradcheck.engines.implementation.traced_forward import traced_expression, traced_pair_expression
from gradcheck.engines.torch import Torch
from gradcheck.facts import fact
from gradcheck.language.case import Case, Claim, Value
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.problem import Problem
from gradcheck.language.trial_draws import with_trials, without_trials

#: At how many points a gradient has to be wrong to be asked no more; one needs differences of all elements.
_ENOUGH = 3
#: How closely a trace has the code's values, and its derivatives those of differences.
_SAME_VALUE, _SAME_SLOPE = 1e-9, 1e-4


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
    values = point.evaluation(engine).states[0].values
    return bool(enough([enough(np.isfinite(dtypes.wide(values[root]))) for root in point.problem.seeds[0]]))


def _gradients(evaluation: Evaluation) -> Mapping[str, np.ndarray | None]:
    return evaluation.states[0].gradients if evaluation.states and not evaluation.error else {}


def diagnose_standalone(context: Context, engine: CodeEngine) -> None:
    """Add diagnoses to the failed comparisons of code without a specification."""
    judged: list[Context] = []
    try_part("cause", lambda: judged.extend(_judged(context, engine)), context.failed_explanations)
    chosen = judged[0] if judged else context
    diagnose_code(chosen, engine)
    context.found = chosen.found


def _judged(context: Context, engine: CodeEngine) -> Iterator[Context]:
    """Yield the context with a better reference than its own, if there is one."""
    expr = _traced_forward(engine, context.points.own.problem)
    if expr is not None:
        case = replace(context.case, graph={**context.case.graph, engine.entry: Claim.of(expr)})
        specified = _with_reference(context, engine, Torch(engine.device), case)
        if _is_right(specified, engine):
            yield specified
    if context.engines.reference is engine:
        wrong = {c.tensor for c in context.found if c.status == "failed"}
        reference: Engine = DifferencesEngine(engine, wrong)  # type: ignore[assignment]
        yield _with_reference(context, engine, reference, context.case)


def _traced_forward(engine: CodeEngine, problem: Problem) -> Expr | None:
    """Return the expression that the code's forward computes; None if unknown."""
    pair = engine.code.foreign if engine.code.kind == "numpy" else None
    code = engine.code if pair is not None else differentiable_forward(engine.code)
    if code is None:
        return None

    def call(code: Code) -> Any:
        return type(engine)(engine.name, engine.entry, code, engine.binding, engine.device).call_code(names)

    with engine.session(problem.dtype):
        run = engine.new_run(problem)
        names = {**run.leaves, **run.constants}
        if pair is None:
            return traced_expression(lambda: call(code), names)
        return traced_pair_expression(pair, lambda one: call(replace(code, foreign=one)), names)


def _with_reference(context: Context, engine: CodeEngine, reference: Engine, case: Case) -> Context:
    (step,) = case.steps
    roots = {root: Value(expr=parse(f"randn_like({root})")) for root in step.roots}  # formulas need general ones
    case = without_trials(replace(case, steps=(replace(step, roots=roots),)))
    engines = Engines((engine,), reference)

    def moved(point: Point) -> Point:
        problem = replace(point.problem, case=case)
        return Point(problem, engines, point.trial, {engine.name: point.evaluation(engine)})

    own = moved(context.points.own)
    points = Points(own.problem, engines)
    points.own, points.variants = own, [moved(point) for point in context.points.other_points]
    found = Context(own.problem.case, context.options, engines, points, failed_explanations=context.failed_explanations)
    found.found = list(context.found)
    return found


def _is_right(context: Context, engine: CodeEngine) -> bool:
    first: dict[tuple[ClaimKind, str], Comparison] = {}
    for c in context.found:
        if c.status == "failed":
            first.setdefault((c.what, c.tensor), c)
    if not _has_values(context.points.nearby_point(context.points.own, 1), engine):
        return False  # it holds numbers that depend on the inputs
    return all(
        _has_values(point, engine) and (c.what is not ClaimKind.GRADIENT or _has_slope(point, c))
        for c, point in ((c, context.points.at(c.trial)) for c in first.values())
    )


def _has_values(point: Point, engine: CodeEngine) -> bool:
    if not point.want.states or not point.evaluation(engine).states:
        return False
    mine, theirs = point.evaluation(engine).states[0].values, point.want.states[0].values
    rtol = _SAME_VALUE if point.problem.dtype.itemsize == 8 else _SAME_SLOPE
    return all(
        name in theirs
        and theirs[name].shape == array.shape
        and np.allclose(wide(array), wide(theirs[name]), rtol=rtol, atol=rtol)
        for name, array in mine.items()
    )


def _has_slope(point: Point, c: Comparison) -> bool:
    found = point.want.states[0].gradients.get(c.tensor)
    want = c.want if c.want_array is None else c.want_array
    if found is None or want is None or (c.want_array is None and c.worst_index is None):
        return c.want_array is None and c.worst_index is None
    mine = wide(found) if c.want_array is not None else wide(found)[c.worst_index]
    return bool(np.allclose(mine, wide(np.asarray(want)), rtol=_SAME_SLOPE, atol=_SAME_SLOPE * np.max(np.abs(mine))))
