"""Faults of forward mode: the op or tensor whose tangent is wrong first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gradcheck.checks.claims.cotangents import operations_of
from gradcheck.checks.claims.op_jvps import directions_of
from gradcheck.checks.closeness.compare import nearly_equal
from gradcheck.checks.failures.diagnosis.evidence import Evidence
from gradcheck.checks.failures.gather_evidence import MORE_POINTS
from gradcheck.checks.failures.point_failures import MAX_DIAGNOSED, PointFailures, diagnose
from gradcheck.checks.result import Cause, Comparison, Diagnosis
from gradcheck.engines.base import Application, Engine
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.jvp import push_operations
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind

_WHOLE_GRAPH_CLAIMS = (ClaimKind.JVP, ClaimKind.DOT_PRODUCT)


def explain_forward_mode(failures: PointFailures, engine: Engine) -> None:
    """Blame ops whose tangent is wrong alone, else the first wrong tensor."""
    places = failures.failed_here((ClaimKind.NODE_JVP,), engine.name)
    for count, place in enumerate(places):
        c = failures.comparisons[place]
        origin = _origin(c)
        known = _rule_at_fault(failures, engine, origin)
        if known is not None:
            failures.mark_consequences(known, [place])
        elif count < MAX_DIAGNOSED:
            cause = Cause(origin, fact("its_jvp_is_wrong", reverse=_is_right_in_reverse(failures, c)))
            failures.blame(place, cause, _diagnoses(failures, engine, c))
        _mark_consequences(failures, engine, known or origin, c.tensor)
    if not places:
        _blame_first(failures, engine)


def _origin(c: Comparison) -> Fact:
    assert c.mismatch is not None
    return fact("op_at", op=c.mismatch["op"], entry=c.tensor)


def _rule_at_fault(failures: PointFailures, engine: Engine, origin: Fact) -> Fact | None:
    """Return the origin of a wrong gradient of the same op."""
    for place in failures.failed_here((ClaimKind.NODE,), engine.name):
        c = failures.comparisons[place]
        found = c.consequence_of or (c.cause.origin if c.cause else None)
        if found is not None and found["op"] == origin["op"]:
            return found
    return None


def _is_right_in_reverse(failures: PointFailures, c: Comparison) -> bool:
    same = (ClaimKind.NODE, c.tensor, c.engine, c.trial, "passed")
    return any((o.what, o.tensor, o.engine, o.trial, o.status) == same for o in failures.comparisons)


def _mark_consequences(failures: PointFailures, engine: Engine, origin: Fact, entry: str) -> None:
    """Mark the tangents of an entry and of all that is made of it."""
    flow = failures.flow(0)
    parts = flow.tensors_of(entry)
    affected = {"", *parts, *flow.descendants(*parts)}
    for place in failures.failed(_WHOLE_GRAPH_CLAIMS, engine.name):
        if failures.comparisons[place].tensor in affected:
            failures.mark_consequences(origin, [place])


def _blame_first(failures: PointFailures, engine: Engine) -> None:
    """Blame the first wrong tensor of the graph, if all ops are right alone."""
    wrong = failures.failed_here((ClaimKind.JVP,), engine.name)
    places = [place for place in wrong if not failures.comparisons[place].consequence_of]
    if not places:
        return
    first = failures.comparisons[places[0]]
    if first.mask is None:
        return
    origin = fact("tensor", name=first.tensor)
    what = fact("tangents_go_wrong", operations=len(failures.point.applications))
    failures.change(places[0], cause=Cause(origin, what))
    _mark_consequences(failures, engine, origin, first.tensor)


# Why -----------------------------------------------------------------------------------------------


def _diagnoses(failures: PointFailures, engine: Engine, c: Comparison) -> tuple[Diagnosis, ...]:
    reference = failures.reference
    assert c.mismatch is not None
    if c.mask is None or not isinstance(engine, DefineByRun) or not isinstance(reference, DefineByRun):
        return ()
    place, output = c.mismatch["place"], str(c.mismatch["number"])
    if engine.forward_ad is None and not _is_linear(failures, engine, failures.point.applications[place]):
        return (Diagnosis("not_linear", fact("rule_is_not_linear"), confidence="confirmed"),)
    if engine.forward_ad is None and c.got_array is not None and not np.any(c.got_array):
        return (Diagnosis("detached", fact("incoming_is_detached"), confidence="confirmed"),)
    return diagnose(_evidence(failures, (engine, reference), place, output))


def _is_linear(failures: PointFailures, engine: DefineByRun, application: Application) -> bool:
    (operation,) = operations_of([application], failures.point.problem.seed)
    twice = tuple(None if c is None else 2 * c for c in operation.cotangents)
    dtype = failures.point.problem.dtype
    one, two = engine.pull_back([application] * 2, [operation.cotangents, twice], dtype)
    pairs = zip(one.gradients, two.gradients, strict=False)
    return all(a is None or b is None or nearly_equal(2 * a, b) for a, b in pairs)


def _evidence(failures: PointFailures, engines: Sequence[DefineByRun], place: int, output: str) -> Iterator[Evidence]:
    """Yield the op's tangent by engine and reference, at its point and nearby."""
    own = failures.point.applications[place]
    for number in range(MORE_POINTS + 1):
        near = failures.context.points.nearby_point(failures.point, number)
        if place >= len(near.applications) or near.applications[place].op is not own.op:
            return
        application = near.applications[place]
        directions = directions_of([application], near.problem.seed + number)
        mine, theirs = (push_operations(engine, [application], directions, near.problem.dtype)[0] for engine in engines)
        want = theirs.tangents.get(output)
        if want is not None and mine.error is None:
            yield Evidence(mine.tangents.get(output), want)
