"""Ops that an engine composes of others, which are not blamed for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gradcheck.checks.claims.operations import wrong_op_gradients
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS, PointFailures
from gradcheck.checks.result import Comparison, WrongOperation
from gradcheck.engines.base import Application, Engine, OpComposition, op_composition


def separate_composed_ops(
    failures: PointFailures, engine: Engine, wrong: Mapping[int, WrongOperation]
) -> tuple[dict[int, WrongOperation], dict[int, int]]:
    """Separate ops that are wrong by themselves from those wrong by a part.

    Returns the first by the places of their comparisons, wrong parts included; and for each of the second the place
    of that part's comparison.
    """
    alone: dict[int, WrongOperation] = {}
    because: dict[int, int] = {}
    known: dict[int, list[int]] = {}  # by an op's number, the places of what is wrong inside of it
    for place, one in wrong.items():
        if one.number not in known:
            known[one.number] = _add_wrong_parts(failures, engine, one)
        inner = known[one.number]
        if not inner:
            alone[place] = one
            continue
        for added in inner:
            operation = failures.comparisons[added].operation
            assert operation is not None
            alone[added] = operation
        because[place] = inner[-1]
    return alone, because


def _add_wrong_parts(failures: PointFailures, engine: Engine, one: WrongOperation) -> list[int]:
    _, wrong = wrong_parts(failures, engine, one)
    first, inside = len(failures.comparisons), one.application.op.name
    for c in wrong:
        assert c.operation is not None
        failures.comparisons.append(replace(c, operation=replace(c.operation, number=one.number, inside=inside)))
    return list(range(first, first + len(wrong)))


def wrong_parts(
    failures: PointFailures, engine: Engine, one: WrongOperation
) -> tuple[tuple[Application, ...], list[Comparison]]:
    """Return the parts that an engine makes an op of, and the wrong ones."""
    called, run = op_parts(failures, engine, one.application).called, failures.context.options.tolerance
    if not called:
        return called, []
    found = wrong_op_gradients(failures.point, engine, [replace(part, shared=False) for part in called], run)
    wrong = {c.operation.number for c in found if c.operation is not None}
    shared = [part for number, part in enumerate(called) if part.shared and number not in wrong]
    return called, found + (wrong_op_gradients(failures.point, engine, shared, run) if shared else [])


def op_parts(failures: PointFailures, engine: Engine, application: Application) -> OpComposition:
    """Return the composition of an op in an engine, empty if unknown."""
    try:
        return op_composition(engine, replace(application, recorded=None), failures.point.problem.dtype)
    except COMPUTATION_ERRORS:
        return OpComposition()
