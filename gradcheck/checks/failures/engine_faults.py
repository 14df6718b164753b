"""Faults of an engine that runs again, and of its forward mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gradcheck.autograd.dtypes import largest_finite
from gradcheck.checks.claims.cotangents import operations_of
from gradcheck.checks.claims.op_jvps import directions_of
from gradcheck.checks.closeness.compare import nearly_equal, rounding_tolerance
from gradcheck.checks.failures.composed_ops import blame_assigning_op, op_parts
from gradcheck.checks.failures.diagnosis.catalogue import Evidence
from gradcheck.checks.failures.gather_evidence import MORE_POINTS
from gradcheck.checks.failures.point_failures import MAX_DIAGNOSED, PointFailures, diagnose
from gradcheck.checks.failures.traversal_probe import BACKWARD_PASS, diagnose_small_graphs
from gradcheck.checks.result import Cause, Comparison, Diagnosis, WrongOperation
from gradcheck.engines.base import Application, Engine, Evaluation, State
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.jvp import push_operations
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind

#: How often an engine runs again, and how many ops.
_REPEATS, _OPS = 6, 20

_RECURSION = Diagnosis("recursion", fact("recursion_engine"), confidence="confirmed")
_NONDETERMINISTIC = Diagnosis("not_deterministic", fact("not_deterministic_engine"), confidence="confirmed")
_WHOLE_GRAPH_CLAIMS = (ClaimKind.JVP, ClaimKind.DOT_PRODUCT)


def is_unreliable(failures: PointFailures, engine: Engine, wrong: Sequence[WrongOperation]) -> bool:
    """Blame an engine that recurses, or varies from run to run."""
    evaluation = failures.point.evaluation(engine)
    if any(state.error is not None and state.error.kind == "recursion" for state in evaluation.states):
        _blame(failures, engine, Cause(fact("the_backward_pass"), fact("it_recurses")), _RECURSION)
        return True
    again = (engine.evaluate(failures.point.problem) for _ in range(_REPEATS))
    if all(_same(evaluation, other) for other in again) and _same_alone(failures, engine, wrong):
        return False
    found = diagnose_small_graphs(engine)  # the order of operands may be all that varies
    if found is not None:
        _blame(failures, engine, BACKWARD_PASS, found)
    elif not blame_assigning_op(failures, engine):
        _blame(failures, engine, Cause(fact("chance"), fact("not_the_same_twice")), _NONDETERMINISTIC)
    return True


def is_wrong_everywhere(failures: PointFailures, engine: Engine, wrong: Sequence[WrongOperation]) -> bool:
    """Blame an engine that counts everything twice, or goes from the leaves.

    Every op is then off by 2, or passes nothing on."""
    others = [one for one in wrong if not _is_doubled(one) and not _is_zero(one.mine.gradients[one.index :][:1])]
    if not all(_is_made(failures, engine, one) for one in others):
        return False
    if len(others) == len(wrong) and (wrong or not _arrives_nowhere(failures, engine)):
        return False
    found = diagnose_small_graphs(engine)
    if found is None or (found.kind != "counted_twice" and found.message.kind != "goes_from_leaves"):
        return False
    _blame(failures, engine, BACKWARD_PASS, found)
    return True


def _arrives_nowhere(failures: PointFailures, engine: Engine) -> bool:
    """Return whether some gradient of the engine is wrongly zero."""
    failed = (failures.comparisons[place] for place in failures.failed((ClaimKind.GRADIENT,), engine.name))
    return any(_is_zero([c.got_array]) for c in failed)


def _is_zero(gradients: Sequence[np.ndarray | None]) -> bool:
    return not any(gradient is not None and np.any(gradient) for gradient in gradients)


def _is_doubled(one: WrongOperation) -> bool:
    pairs = zip(one.mine.gradients[one.index :], one.theirs.gradients[one.index :], strict=False)
    got, want = next(pairs, (None, None))
    if one.mine.error or got is None or want is None:
        return False
    return any(_equal(got, np.asarray(factor * want)) for factor in (2, 4))


def _is_made(failures: PointFailures, engine: Engine, one: WrongOperation) -> bool:
    made = op_parts(failures, engine, one.application)
    return not one.mine.error and bool(made.called or made.methods)


def _blame(failures: PointFailures, engine: Engine, cause: Cause, diagnosis: Diagnosis) -> None:
    """Blame one cause for all failures of an engine; a raised error leads."""
    places = failures.failed((), engine.name)
    lead = min(places, key=lambda place: failures.comparisons[place].what is not ClaimKind.RAISES)
    failures.blame(lead, cause, (diagnosis,))
    failures.mark_consequences(cause.origin, places)


def _same(one: Evaluation, other: Evaluation) -> bool:
    if (one.error and one.error.kind) != (other.error and other.error.kind) or len(one.states) != len(other.states):
        return False
    return all(
        _kind(mine) == _kind(theirs)
        and mine.gradients.keys() == theirs.gradients.keys()
        and (
            mine.error is not None
            or all(_equal(gradient, theirs.gradients[name]) for name, gradient in mine.gradients.items())
        )
        for mine, theirs in zip(one.states, other.states, strict=True)
    )


def _kind(state: State) -> str | None:
    return None if state.error is None else state.error.kind


def _same_alone(failures: PointFailures, engine: Engine, wrong: Sequence[WrongOperation]) -> bool:
    """Return whether ops that are wrong alone give the same gradients again."""
    some = list(wrong[:_OPS]) * _REPEATS
    applications, cotangents = [one.application for one in some], [one.operation.cotangents for one in some]
    again = engine.pull_back(applications, cotangents, failures.point.problem.dtype)
    return all(
        len(one.mine.gradients) == len(other.gradients) and all(map(_equal, one.mine.gradients, other.gradients))
        for one, other in zip(some, again, strict=True)
    )


def _equal(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    """Return whether two gradients differ by the order of additions at most."""
    if one is None or other is None:
        return one is other
    return nearly_equal(one, other, rounding_tolerance(one.dtype, scale=largest_finite(other)))


def explain_forward_mode(failures: PointFailures, engine: Engine) -> None:
    """Blame ops whose tangent is wrong alone, else the first wrong tensor."""
    places = failures.failed_here((ClaimKind.NODE_JVP,), engine.name)
    for count, place in enumerate(places):
        c = failures.comparisons[place]
        assert c.mismatch is not None
        origin = fact("op_at", op=c.mismatch["op"], entry=c.tensor)
        known = _rule_at_fault(failures, engine, origin)
        if known is not None:
            failures.mark_consequences(known, [place])
        elif count < MAX_DIAGNOSED:
            cause = Cause(origin, fact("its_jvp_is_wrong", reverse=_is_right_in_reverse(failures, c)))
            failures.blame(place, cause, _diagnoses(failures, engine, c))
        _mark_tangents(failures, engine, known or origin, c.tensor)
    if not places:
        _blame_first(failures, engine)


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


def _mark_tangents(failures: PointFailures, engine: Engine, origin: Fact, entry: str) -> None:
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
    _mark_tangents(failures, engine, origin, first.tensor)


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
