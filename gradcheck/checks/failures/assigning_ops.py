"""Ops whose rules assign a gradient where they should add to it.

Where the order of a pass varies, as of a class that keeps operands in a set, so does what is lost. So a leaf gets a
gradient before the op's pass: it must still be there afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, zip_longest

import numpy as np

from gradcheck.autograd.op import TABLE, Op
from gradcheck.checks.closeness.compare import nearly_equal
from gradcheck.checks.failures.composed_ops import op_parts
from gradcheck.checks.failures.gather_evidence import make_reference_pullback
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS, PointFailures
from gradcheck.checks.result import Cause, Diagnosis
from gradcheck.engines.base import Application, Engine
from gradcheck.engines.define_by_run import OpRun
from gradcheck.engines.recording import arrays
from gradcheck.engines.tensor_class.foreign_engine import ForeignEngine
from gradcheck.facts import fact

#: The gradient that a leaf has before; the most ops that are asked, and their operands.
_BEFORE, _MOST, _NUMBERS = 3.0, 20, ((0.5, 2.0), (1.5, 0.25), (0.75, 3.0))


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
    pairs = [
        (got, want) for got, want in zip(found.gradients, wanted, strict=False) if got is not None and want is not None
    ]
    return (
        any(nearly_equal(got, want + _BEFORE) for got, want in pairs),
        any(nearly_equal(got, want) for got, want in pairs),
    )
