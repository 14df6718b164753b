"""Wrong values and errors in the forward pass: where, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from gradcheck.checks.closeness.compare import nearly_equal
from gradcheck.checks.failures.composed_ops import op_parts
from gradcheck.checks.failures.diagnosis.catalogue import Evidence
from gradcheck.checks.failures.gather_evidence import MORE_POINTS
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS, PointFailures, diagnose
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Cause, Diagnosis
from gradcheck.engines.base import Application, Engine
from gradcheck.engines.define_by_run import DefineByRun, OpRun
from gradcheck.engines.tensor_class.foreign_engine import ForeignEngine
from gradcheck.facts import Fact, fact
from gradcheck.language.case import TextSpan
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.nodes import Call, Name
from gradcheck.language.expr.parser import parse_with_spans
from gradcheck.language.expr.traverse import postorder


def has_wrong_values(failures: PointFailures, engine: Engine) -> bool:
    """Blame the first wrong value of an engine, if any, for all failures."""
    places = failures.failed((ClaimKind.VALUE,), engine.name)
    if not places:
        return False
    here = [place for place in places if failures.is_here(failures.comparisons[place])]
    lead = (here or places)[0]
    tensor = failures.comparisons[lead].tensor
    changed = tuple(failures.point.evaluation(engine).changed)
    if changed and here:
        cause = Cause(fact("ops_of", engine=engine.name), fact("change_arguments", tensors=changed))
        found = Diagnosis("input_mutated", fact("inputs_mutated", tensors=changed), confidence="confirmed")
        op = next((one for one in failures.point.applications if _changes(failures, engine, one)), None)
        code = None if op is None else op_parts(failures, engine, op).place
        failures.change(lead, cause=cause, diagnoses=(found,), code=failures.comparisons[lead].code or code)
    else:
        cause = _blame(failures, engine, lead, tensor, _is_wrong)
        failures.change(lead, diagnoses=diagnose(_values(failures, engine, tensor)) if here else ())
    failures.mark_consequences(cause.origin, failures.failed((), engine.name))
    return True


def has_forward_error(failures: PointFailures, engine: Engine) -> bool:
    """Blame the op behind an error in the forward pass, if there is one.

    The op raises it, or has a wrong value that a later op rejects.
    """
    evaluation = failures.point.evaluation(engine)
    places = failures.failed((ClaimKind.RAISES,), engine.name)
    if evaluation.states or not evaluation.failed_at or not places:
        return False
    cause = _blame(failures, engine, places[0], evaluation.failed_at, _raises, _is_wrong)
    failures.mark_consequences(cause.origin, failures.failed((), engine.name))
    return True


#: Whether an op alone fails in an engine.
_OpTest = Callable[[PointFailures, Engine, Application], bool]


def _blame(failures: PointFailures, engine: Engine, lead: int, tensor: str, *tests: _OpTest) -> Cause:
    """Blame the op that fails alone, by the first test that finds one.

    With a second test, the op of an earlier entry may be found; without any, the entry is blamed.
    """
    owner = tensor.partition("[")[0]
    for test in tests:
        for number, application in enumerate(failures.point.applications):
            is_there = application.owner == owner or test is not tests[0]
            if is_there and test(failures, engine, application):
                return _blame_op(failures, engine, lead, number, test)
    cause = Cause(_entry(failures, tensor), _what(tests[0]))
    failures.change(lead, cause=cause)
    return cause


def _what(test: _OpTest) -> Fact:
    return fact("value_is_wrong" if test is _is_wrong else "it_raises")


def _blame_op(failures: PointFailures, engine: Engine, lead: int, number: int, test: _OpTest) -> Cause:
    application = failures.point.applications[number]
    made = op_parts(failures, engine, application)
    inner = next((part for part in made.called if test(failures, engine, part)), None)
    if inner is None:
        origin = fact("op_at", op=application.op.name, entry=application.owner)
        code = failures.comparisons[lead].code or made.place
    else:
        origin = fact("op_inside", op=inner.op.name, entry=application.owner, outer=application.op.name)
        code = op_parts(failures, engine, inner).place
    cause = Cause(origin, _what(test))
    failures.change(lead, cause=cause, part=source_part(failures, application, number), code=code)
    return cause


def _run_alone(
    failures: PointFailures, engine: Engine, application: Application
) -> tuple[OpRun, list[np.ndarray]] | None:
    """Run an op alone in an engine; None if that is impossible."""
    if not isinstance(engine, DefineByRun):
        return None
    alone = replace(application, recorded=None, shared=False)
    try:
        with engine.fresh_session(failures.point.problem.dtype):
            run = OpRun(engine, alone, [np.zeros(())] * len(alone.outputs))
            return run, [np.asarray(engine.array(root)) for root in run.roots]
    except COMPUTATION_ERRORS:
        return None


def _raises(failures: PointFailures, engine: Engine, application: Application) -> bool:
    ran = _run_alone(failures, engine, application)
    return ran is not None and ran[0].error is not None


def _is_wrong(failures: PointFailures, engine: Engine, application: Application) -> bool:
    """Return whether an op alone has another value in an engine than in NumPy."""
    ran = _run_alone(failures, engine, application)
    if ran is None or ran[0].error is not None:
        return False
    try:
        right = application.op(*application.args, **application.kwargs)
    except COMPUTATION_ERRORS:
        return False
    outputs = right if isinstance(right, tuple) else (right,)
    wanted = [np.asarray(a) for a, output in zip(outputs, application.outputs, strict=False) if output is not None]
    return not all(nearly_equal(got, want) for got, want in zip(ran[1], wanted, strict=False))


def _changes(failures: PointFailures, engine: Engine, application: Application) -> bool:
    if not isinstance(engine, ForeignEngine):
        return False
    try:
        with engine.fresh_session(failures.point.problem.dtype):
            leaves = OpRun(engine, application, ()).leaves
            return any(not np.array_equal(engine.current_values(one), one.array, equal_nan=True) for one in leaves)
    except COMPUTATION_ERRORS:
        return False


def _entry(failures: PointFailures, tensor: str) -> Fact:
    """Return the origin of a wrong entry: its op, if it is one op of names."""
    claim = failures.context.case.graph.get(tensor.partition("[")[0])
    if claim is not None and isinstance(claim.expr, Call) and all(isinstance(c, Name) for c in claim.expr.args):
        return fact("op_at", op=claim.expr.op, entry=tensor)
    return fact("tensor", name=tensor)


def _values(failures: PointFailures, engine: Engine, tensor: str) -> Iterator[Evidence]:
    for number in range(MORE_POINTS + 1):
        near = failures.context.points.nearby_point(failures.point, number)
        mine, theirs = near.evaluation(engine).states, near.want.states
        if mine and theirs and tensor in theirs[0].values:
            want = theirs[0].values[tensor]
            others = {name: value for name, value in theirs[0].values.items() if name != tensor}
            exchanged = _with_exchanged_operands(near, tensor, want)
            yield Evidence(mine[0].values.get(tensor), want, others=others, is_value=True, exchanged=exchanged)


def _with_exchanged_operands(point: Point, tensor: str, want: np.ndarray) -> np.ndarray | None:
    """Return an entry's value with the two operands of its last op exchanged.

    Of a difference that is the sign alone."""
    last = next((one for one in reversed(point.applications) if one.owner == tensor), None)
    if last is None or len(last.args) != 2 or last.kwargs:
        return None
    try:
        found = np.asarray(last.op(*reversed(last.args)))
    except (TypeError, ValueError, *COMPUTATION_ERRORS):  # one of them is no tensor
        return None
    return None if found.shape == want.shape and nearly_equal(found, -want) else found


def source_part(failures: PointFailures, application: Application, number: int, inside: str = "") -> TextSpan | None:
    """Return where an op stands in its entry, None outside of entries.

    `number` is the op's among the point's; `inside` names the op that it is a part of. An op that stands in several
    places and cannot be told apart gives the whole entry.
    """
    claim = failures.context.case.graph.get(application.owner)
    if claim is None:
        return None
    name = inside or application.op.name
    root, known = parse_with_spans(claim.text)
    places = [
        known[id(node)] for node in postorder(root) if isinstance(node, Call) and node.op == name and id(node) in known
    ]
    applied = enumerate(failures.point.applications)
    alike = [n for n, other in applied if other.owner == application.owner and other.op.name == name]
    if len(places) == len(alike) and number in alike:
        start, end = places[alike.index(number)]
    else:
        start, end = places[0] if len(places) == 1 else (0, len(claim.text))
    return TextSpan(claim.text, start, end)
