"""Ops that an engine makes of others: what is wrong with them because another op is wrong is not blamed on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gradcheck.checks.claims.operations import wrong_alone
from gradcheck.checks.failures.point_failures import CANNOT, PointFailures
from gradcheck.checks.result import Comparison, WrongOperation
from gradcheck.engines.base import Application, Engine, Parts, parts_of


def taken_apart(
    failures: PointFailures, engine: Engine, wrong: Mapping[int, WrongOperation]
) -> tuple[dict[int, WrongOperation], dict[int, int]]:
    """The ops that are wrong by themselves, by the places of their comparisons, those inside of others added; and by
    the places of those that are wrong because of another, the place of that."""
    alone: dict[int, WrongOperation] = {}
    because: dict[int, int] = {}
    known: dict[int, list[int]] = {}  # by an op's number, the places of what is wrong inside of it
    for place, one in wrong.items():
        if one.number not in known:
            known[one.number] = _inside(failures, engine, one)
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


def _inside(failures: PointFailures, engine: Engine, one: WrongOperation) -> list[int]:
    """Adds what is wrong inside of an op; its places."""
    _, wrong = wrong_parts(failures, engine, one)
    found = [_in(one, c) for c in wrong]
    first = len(failures.comparisons)
    failures.comparisons.extend(found)
    return list(range(first, first + len(found)))


def _in(outer: WrongOperation, c: Comparison) -> Comparison:
    assert c.operation is not None
    return replace(c, operation=replace(c.operation, number=outer.number, inside=outer.application.op.name))


def wrong_parts(
    failures: PointFailures, engine: Engine, one: WrongOperation
) -> tuple[tuple[Application, ...], list[Comparison]]:
    """What is called in an op's place, and what of it is wrong: on tensors of their own; what is right there, where two
    of its arguments are one tensor."""
    called, run = parts(failures, engine, one.application).called, failures.context.options.tolerance
    if not called:
        return called, []
    found = wrong_alone(failures.point, engine, [replace(part, shared=False) for part in called], run)
    wrong = {c.operation.number for c in found if c.operation is not None}
    shared = [part for number, part in enumerate(called) if part.shared and number not in wrong]
    return called, found + (wrong_alone(failures.point, engine, shared, run) if shared else [])


def parts(failures: PointFailures, engine: Engine, application: Application) -> Parts:
    """What an engine makes an op of; nothing where it cannot be told."""
    try:
        return parts_of(engine, replace(application, recorded=None), failures.point.problem.dtype)
    except CANNOT:
        return Parts()
