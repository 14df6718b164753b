"""What is wrong with an engine before any gradient: it answers otherwise each time, recurses, or has wrong values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gradcheck.checks.failures.diagnosis.evidence import Evidence
from gradcheck.checks.failures.evidence import MORE_POINTS
from gradcheck.checks.failures.point_failures import PointFailures, why
from gradcheck.checks.result import Cause, ClaimKind, Diagnosis, WrongOperation
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.facts import Fact, fact
from gradcheck.language.expr.nodes import Call, Name

#: How often an engine is asked again whether it answers the same, and about how many ops.
_REPEATS, _OPS = 4, 20

_RECURSION = Diagnosis("recursion", fact("recursion_engine"), confidence="confirmed")
_BY_CHANCE = Diagnosis("not_deterministic", fact("not_deterministic_engine"), confidence="confirmed")


def is_unreliable(failures: PointFailures, engine: Engine, wrong: Sequence[WrongOperation]) -> bool:
    """Tell of an engine that recurses, or answers otherwise when it is asked again; whether it is one."""
    evaluation = failures.point.evaluation(engine)
    errors = [evaluation.error, *(state.error for state in evaluation.states)]
    if any(error is not None and error.kind == "recursion" for error in errors):
        _blame(failures, engine, Cause(fact("the_backward_pass"), fact("it_recurses")), _RECURSION)
        return True
    again = (engine.evaluate(failures.point.problem) for _ in range(_REPEATS))
    if all(_same(evaluation, other) for other in again) and _same_alone(failures, engine, wrong):
        return False
    _blame(failures, engine, Cause(fact("chance"), fact("not_the_same_twice")), _BY_CHANCE)
    return True


def _blame(failures: PointFailures, engine: Engine, cause: Cause, diagnosis: Diagnosis) -> None:
    """All failures of the engine follow from one thing; an error that was raised shows it best."""
    places = failures.failed((), engine.name)
    lead = min(places, key=lambda place: failures.comparisons[place].what is not ClaimKind.RAISES)
    failures.blame(lead, cause, (diagnosis,))
    failures.follow_from(cause.origin, places)


def _same(one: Evaluation, other: Evaluation) -> bool:
    """Whether two evaluations of the same problem raised the same and have the same gradients."""
    if (one.error and one.error.kind) != (other.error and other.error.kind) or len(one.states) != len(other.states):
        return False
    return all(
        mine.gradients.keys() == theirs.gradients.keys()
        and all(_equal(gradient, theirs.gradients[name]) for name, gradient in mine.gradients.items())
        for mine, theirs in zip(one.states, other.states, strict=True)
    )


def _same_alone(failures: PointFailures, engine: Engine, wrong: Sequence[WrongOperation]) -> bool:
    """Whether the ops that are wrong alone are so again."""
    some = list(wrong[:_OPS]) * _REPEATS
    applications, cotangents = [one.application for one in some], [one.operation.cotangents for one in some]
    again = engine.pull_back(applications, cotangents, failures.point.problem.dtype)
    return all(
        len(one.mine.gradients) == len(other.gradients) and all(map(_equal, one.mine.gradients, other.gradients))
        for one, other in zip(some, again, strict=True)
    )


def _equal(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and bool(np.all((one == other) | ((one != one) & (other != other))))


# Values --------------------------------------------------------------------------------------------


def has_wrong_values(failures: PointFailures, engine: Engine) -> bool:
    """Tell of the first wrong value, from which everything else may follow; whether there is one."""
    places = failures.failed((ClaimKind.VALUE,), engine.name)
    if not places:
        return False
    here = [place for place in places if failures.is_here(failures.comparisons[place])]
    lead = (here or places)[0]
    tensor = failures.comparisons[lead].tensor
    changed = tuple(failures.point.evaluation(engine).changed)
    told: tuple[Diagnosis, ...]
    if changed and here:
        cause = Cause(fact("ops_of", engine=engine.name), fact("change_arguments", tensors=changed))
        told = (Diagnosis("input_mutated", fact("inputs_mutated", tensors=changed), confidence="confirmed"),)
    else:
        cause = Cause(_op_at(failures, tensor), fact("value_is_wrong"))
        told = why(_values(failures, engine, tensor)) if here else ()
    failures.change(lead, cause=cause, diagnoses=told)
    failures.follow_from(cause.origin, failures.failed((), engine.name))
    return True


def _op_at(failures: PointFailures, tensor: str) -> Fact:
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
