"""A value that is wrong in the forward pass already, or an error that is raised there, from which everything else may
follow: where, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.failures.composition import parts
from gradcheck.checks.failures.diagnosis.evidence import Evidence
from gradcheck.checks.failures.evidence import MORE_POINTS
from gradcheck.checks.failures.point_failures import CANNOT, PointFailures, why
from gradcheck.checks.failures.spots import part_of
from gradcheck.checks.failures.wrong_steps import nearly
from gradcheck.checks.result import Cause, Diagnosis
from gradcheck.engines.base import Application, Engine
from gradcheck.engines.define_by_run import DefineByRun, OpRun
from gradcheck.facts import Fact, fact
from gradcheck.language.expr.nodes import Call, Name


def has_wrong_values(failures: PointFailures, engine: Engine) -> bool:
    """Tell of the first wrong value, from which everything else may follow; whether there is one."""
    places = failures.failed((ClaimKind.VALUE,), engine.name)
    if not places:
        return False
    here = [place for place in places if failures.is_here(failures.comparisons[place])]
    lead = (here or places)[0]
    tensor = failures.comparisons[lead].tensor
    changed = tuple(failures.point.evaluation(engine).changed)
    if changed and here:
        cause = Cause(fact("ops_of", engine=engine.name), fact("change_arguments", tensors=changed))
        told = Diagnosis("input_mutated", fact("inputs_mutated", tensors=changed), confidence="confirmed")
        failures.change(lead, cause=cause, diagnoses=(told,))
    else:
        cause = _blame(failures, engine, lead, tensor, _is_wrong)
        failures.change(lead, diagnoses=why(_values(failures, engine, tensor)) if here else ())
    failures.follow_from(cause.origin, failures.failed((), engine.name))
    return True


def cannot_go_forward(failures: PointFailures, engine: Engine) -> bool:
    """Tell of the op that raises an error in the forward pass, which ends it; whether there is one."""
    evaluation = failures.point.evaluation(engine)
    places = failures.failed((ClaimKind.RAISES,), engine.name)
    if evaluation.states or not evaluation.failed_at or not places:
        return False
    cause = _blame(failures, engine, places[0], evaluation.failed_at, _raises)
    failures.follow_from(cause.origin, failures.failed((), engine.name))
    return True


#: Whether an op alone goes wrong in an engine.
_GoesWrong = Callable[[PointFailures, Engine, Application], bool]


def _blame(failures: PointFailures, engine: Engine, lead: int, tensor: str, goes_wrong: _GoesWrong) -> Cause:
    """The op that goes wrong alone, if there is one; else the entry."""
    owner, what = tensor.partition("[")[0], fact("value_is_wrong" if goes_wrong is _is_wrong else "it_raises")
    for number, application in enumerate(failures.point.applications):
        if application.owner != owner or not goes_wrong(failures, engine, application):
            continue
        made = parts(failures, engine, application)
        inner = next((part for part in made.called if goes_wrong(failures, engine, part)), None)
        outer = application.op.name if inner is not None else ""
        op = application.op.name if inner is None else inner.op.name
        origin = fact("op_inside", op=op, entry=owner, outer=outer) if outer else fact("op_at", op=op, entry=owner)
        code = made.place if inner is None else parts(failures, engine, inner).place
        cause = Cause(origin, what)
        failures.change(lead, cause=cause, part=part_of(failures, application, number), code=code)
        return cause
    cause = Cause(_entry(failures, tensor), what)
    failures.change(lead, cause=cause)
    return cause


def _is_wrong(failures: PointFailures, engine: Engine, application: Application) -> bool:
    """Whether an op alone has another value in an engine than in NumPy; False where that cannot be asked."""
    if not isinstance(engine, DefineByRun):
        return False
    alone = replace(application, recorded=None, shared=False)
    try:
        right = alone.op(*alone.args, **alone.kwargs)
        with engine.fresh_session(failures.point.problem.dtype):
            run = OpRun(engine, alone, [np.zeros(())] * len(alone.outputs))
            got = [engine.array(root) for root in run.roots]
    except CANNOT:
        return False
    outputs = right if isinstance(right, tuple) else (right,)
    wanted = [array for array, output in zip(outputs, alone.outputs, strict=False) if output is not None]
    pairs = zip(got, wanted, strict=False)
    return run.error is None and not all(nearly(np.asarray(a), np.asarray(b)) for a, b in pairs)


def _raises(failures: PointFailures, engine: Engine, application: Application) -> bool:
    """Whether an engine raises an error in an op alone; False where that cannot be asked."""
    if not isinstance(engine, DefineByRun):
        return False
    alone = replace(application, recorded=None, shared=False)
    try:
        with engine.fresh_session(failures.point.problem.dtype):
            return OpRun(engine, alone, [np.zeros(())] * len(alone.outputs)).error is not None
    except CANNOT:
        return False


def _entry(failures: PointFailures, tensor: str) -> Fact:
    """`tanh at h` for an entry that is one op of names; otherwise the entry."""
    claim = failures.context.case.graph.get(tensor.partition("[")[0])
    if claim is not None and isinstance(claim.expr, Call) and all(isinstance(c, Name) for c in claim.expr.args):
        return fact("op_at", op=claim.expr.op, entry=tensor)
    return fact("tensor", name=tensor)


def _values(failures: PointFailures, engine: Engine, tensor: str) -> Iterator[Evidence]:
    for number in range(MORE_POINTS + 1):
        near = failures.context.points.nearby(failures.point, number)
        mine, theirs = near.evaluation(engine).states, near.want.states
        if mine and theirs and tensor in theirs[0].values:
            others = {name: value for name, value in theirs[0].values.items() if name != tensor}
            yield Evidence(mine[0].values.get(tensor), theirs[0].values[tensor], others=others)
