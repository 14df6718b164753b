"""Gradients of gradients, for code that torch goes through."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradcheck.checks.claims import second_order
from gradcheck.checks.context import Context
from gradcheck.checks.implementations.own_case import of_second_order
from gradcheck.checks.points import Points
from gradcheck.checks.result import Comparison

if TYPE_CHECKING:
    from gradcheck.engines.implementation.engine import Implementation


def of_second_order_too(context: Context, engine: Implementation) -> list[Comparison]:
    """What second order comes to at the case's own numbers; nothing where these are at a kink, or the code rounds so
    much that first gradients say little."""
    own = [c for c in context.found if c.trial is None]
    is_clear = not any(c.status == "not_differentiable" or c.has_note("own_rounding") for c in own)
    if not engine.code.is_torch or not is_clear:
        return []
    problem = context.points.own.problem
    case = of_second_order(context.case, problem)
    incoming = {name: value.array for name, value in case.inputs.items() if name not in problem.inputs}
    if incoming:
        seeds = ({"total_": None},)
        problem = replace(problem, case=case, inputs={**problem.inputs, **incoming}, seeds=seeds)
    asked = Context(case, context.options, context.engines, Points(problem, context.engines))
    if not second_order.applies(asked):
        return []
    found = [c for c in second_order.check(asked) if c.tensor in case.inputs]
    alone = context.engines.reference is engine
    return [c for c in found if alone or c.mismatch is None or c.mismatch.kind != "differences_disagree"]
