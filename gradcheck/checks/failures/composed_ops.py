"""Ops that an engine composes of others, and ops that assign a gradient.

The first are not blamed for their parts. Of the others, what is lost varies where the order of a pass does, as of a
class that keeps operands in a set. So a leaf gets a gradient before the op's pass: it must still be there afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice, zip_longest

import numpy as np

from gradcheck.autograd.op import TABLE, Op
from gradcheck.checks.claims.operations import wrong_op_gradients
from gradcheck.checks.closeness.compare import nearly_equal
from gradcheck.checks.failures.gather_evidence import make_reference_pullback
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS, PointFailures
from gradcheck.checks.result import Cause, Comparison, Diagnosis, WrongOperation
from gradcheck.engines.base import Application, Engine, OpComposition, op_composition
from gradcheck.engines.define_by_run import OpRun
from gradcheck.engines.recording import arrays
from gradcheck.engines.tensor_class.foreign_engine import ForeignEngine
from gradcheck.facts import fact

#: The gradient that a leaf has before; the most ops that are asked, and their operands.
_BEFORE, _MOST, _NUMBERS = 3.0, 20, ((0.5, 2.0), (1.5, 0.25), (0.75, 3.0))


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


def blame_assigning_op(failures: PointFailures, engine: Engine) -> bool:
    """Blame an op that assigns a gradient for all; return if there is one."""
    application = _assigning_op(failures, engine)
    if application is None:
        return False
    op, places = application.op.name, failures.failed((), engine.name)
    cause = Cause(fact("op_at", op=op, entry=application.owner), fact("its_gradient_is_wrong"))
    found = Diagnosis("overwritten", fact("op_assigns", op=op), "confirmed", fact("lost_beside_others"))
    failures.blame(places[0], cause, (found,))
    failures.change(places[0], code=op_parts(failures, engine, application).place)
    failures.mark_consequences(cause.origin, places)
    return True


def _assigning_op(failures: PointFailures, engine: Engine) -> Application | None:
    """Return an op whose rule loses an earlier gradient; others keep theirs.

    In a class whose passes begin anew, none does. Ops that are made of others come last."""
    asked = [(one, *_outcomes(failures, engine, one)) for one in islice(_basic_first(failures, engine), _MOST)]
    keeps = any(added for _, added, _ in asked)
    return next((one for one, _, assigned in asked if keeps and assigned), None)


def _basic_first(failures: PointFailures, engine: Engine) -> Iterator[Application]:
    """Yield the graph's ops and their parts, elementwise ones on two numbers."""
    basic: dict[str, Application] = {}
    composed: dict[str, Application] = {}
    for application in failures.point.applications:
        op = application.op
        if op.name in basic or op.name in composed:
            continue
        made = op_parts(failures, engine, application)
        inner = {*made.methods, *(one.op.name for one in made.called)} - {op.name}
        basic |= {name: _on_numbers(TABLE[name], application) for name in inner if name in TABLE}
        mine = _on_numbers(op, application) if op.elementwise else application
        (composed if inner else basic)[op.name] = mine
    yield from (one for one in basic.values() if one.op.elementwise)
    yield from (one for name, one in composed.items() if name not in basic)


def _on_numbers(op: Op, like: Application) -> Application:
    """Return an elementwise op on arrays of two numbers.

    Plain operands stay plain. So is the exponent of a power inside of another op: many classes take no other."""
    dtype = next((array.dtype for array in arrays(like.args, like.kwargs)), np.dtype(np.float64))
    count, own = len(op.rules), like.args if op is like.op else (None, 3.0) if op.name == "pow" else ()
    pairs = zip_longest(own[:count], (np.array(numbers, dtype) for numbers in _NUMBERS[:count]))
    given = [one if isinstance(one, (int, float)) else array for one, array in pairs]
    rest = like.args[count:] if op is like.op else ()
    return Application(op, (*given, *rest), {}, like.owner, outputs=((np.shape(_NUMBERS[0]), dtype),))


def _outcomes(failures: PointFailures, engine: Engine, application: Application) -> tuple[bool, bool]:
    """Return whether the op's pass adds to a gradient, and whether it assigns."""
    dtype, output = failures.point.problem.dtype, application.outputs[0]
    if not isinstance(engine, ForeignEngine) or len(application.outputs) != 1 or output is None:
        return False, False
    cotangents = (np.ones(output[0], dtype),)
    wanted = make_reference_pullback(failures.reference, dtype)(application, cotangents)
    try:
        with engine.fresh_session(dtype):
            run = OpRun(engine, application, cotangents)
            for leaf in run.leaves:
                leaf.grad = np.full(leaf.shape, _BEFORE, dtype)
            run.backward()
            found = run.pullback()
    except COMPUTATION_ERRORS:
        return False, False
    both = zip(found.gradients, wanted, strict=False)
    pairs = [(got, want) for got, want in both if got is not None and want is not None]
    added, assigned = ([nearly_equal(got, want + by) for got, want in pairs] for by in (_BEFORE, 0.0))
    return any(added), any(assigned)
