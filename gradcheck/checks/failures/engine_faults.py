"""Faults that show when an engine runs again: recursion, chance, doubling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradcheck.autograd.dtypes import largest_finite
from gradcheck.checks.closeness.compare import nearly_equal, rounding_tolerance
from gradcheck.checks.failures.assigning_ops import blame_assigning_op
from gradcheck.checks.failures.composed_ops import op_parts
from gradcheck.checks.failures.point_failures import PointFailures
from gradcheck.checks.failures.traversal_probe import BACKWARD_PASS, diagnose_small_graphs
from gradcheck.checks.result import Cause, Diagnosis, WrongOperation
from gradcheck.engines.base import Engine, Evaluation, State
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind

#: How often an engine runs again, and how many ops.
_REPEATS, _OPS = 6, 20

_RECURSION = Diagnosis("recursion", fact("recursion_engine"), confidence="confirmed")
_NONDETERMINISTIC = Diagnosis("not_deterministic", fact("not_deterministic_engine"), confidence="confirmed")


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
    """Return whether an op's gradient is 2 or 4 times the right one."""
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
