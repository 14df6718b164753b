"""Diagnose code without a specification: its traced forward becomes one.

A trace counts where it has the code's values, and the derivative that refuted the code. Otherwise the reference is the
forward's gradient by torch, or by finite differences of all elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.context import Context
from gradcheck.checks.implementations.code_diagnosis import diagnose_code
from gradcheck.checks.implementations.differences_engine import DifferencesEngine
from gradcheck.checks.isolation.failure_capture import try_part
from gradcheck.checks.options import Engines
from gradcheck.checks.points.drawing import Points
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Engine
from gradcheck.engines.torch import Torch
from gradcheck.language.case import Case, Claim, Value
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.problem import Problem
from gradcheck.language.trial_draws import without_trials

if TYPE_CHECKING:
    from gradcheck.engines.implementation.code_engine import CodeEngine
    from gradcheck.engines.implementation.code_kinds import Code

#: How closely a trace has the code's values, and its derivatives those of differences.
_SAME_VALUE, _SAME_SLOPE = 1e-9, 1e-4


def diagnose_standalone(context: Context, engine: CodeEngine) -> None:
    """Add diagnoses to the failed comparisons of code without a specification."""
    judged: list[Context] = []
    try_part("diagnosis", lambda: judged.extend(_judged(context, engine)), context.failed_explanations)
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
    from gradcheck.engines.implementation.differentiable_forward import differentiable_forward
    from gradcheck.engines.implementation.traced_forward import traced_expression, traced_pair_expression

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
    """Return whether the trace has the code's values and slopes."""
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
