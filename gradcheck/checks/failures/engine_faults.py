"""What an engine shows when it is asked again: it answers otherwise, recurses, counts all twice, or loses uses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradcheck.autograd.dtypes import largest_finite
from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.closeness.nearly_equal import nearly_equal, rounding_tolerance
from gradcheck.checks.failures.composed_ops import op_parts
from gradcheck.checks.failures.point_failures import PointFailures
from gradcheck.checks.failures.traversal_probe import BACKWARD_PASS, diagnose_small_graphs
from gradcheck.checks.result import Cause, Diagnosis, WrongOperation
from gradcheck.engines.base import Engine, Evaluation, State
from gradcheck.facts import fact

#: How often an engine is asked again whether it answers the same, and about how many ops.
_REPEATS, _OPS = 6, 20

_RECURSION = Diagnosis("recursion", fact("recursion_engine"), confidence="confirmed")
_NONDETERMINISTIC = Diagnosis("not_deterministic", fact("not_deterministic_engine"), confidence="confirmed")


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
    found = diagnose_small_graphs(engine, failures.reference)  # an order that changes may be all that is left to chance
    if found is not None:
        _blame(failures, engine, BACKWARD_PASS, found)
    else:
        _blame(failures, engine, Cause(fact("chance"), fact("not_the_same_twice")), _NONDETERMINISTIC)
    return True


def counts_all_twice(failures: PointFailures, engine: Engine, wrong: Sequence[WrongOperation]) -> bool:
    """Tell of an engine that counts everything twice, so that every op alone is off by 2, and one that it makes of
    others by what comes of that; whether it is one."""
    doubled = [one for one in wrong if _is_doubled(one)]
    if not doubled or not all(one in doubled or _is_made(failures, engine, one) for one in wrong):
        return False
    found = diagnose_small_graphs(engine, failures.reference)
    if found is None or found.kind != "counted_twice":
        return False
    _blame(failures, engine, BACKWARD_PASS, found)
    return True


def _is_doubled(one: WrongOperation) -> bool:
    """Whether an op's gradient is twice what it should be, or twice that."""
    pairs = zip(one.mine.gradients[one.index :], one.theirs.gradients[one.index :], strict=False)
    got, want = next(pairs, (None, None))
    if one.mine.error or got is None or want is None:
        return False
    return any(_equal(got, np.asarray(factor * want)) for factor in (2, 4))


def _is_made(failures: PointFailures, engine: Engine, one: WrongOperation) -> bool:
    """Whether an engine makes an op of others."""
    made = op_parts(failures, engine, one.application)
    return not one.mine.error and bool(made.called or made.methods)


def _blame(failures: PointFailures, engine: Engine, cause: Cause, diagnosis: Diagnosis) -> None:
    """All failures of the engine follow from one thing; an error that was raised shows it best."""
    places = failures.failed((), engine.name)
    lead = min(places, key=lambda place: failures.comparisons[place].what is not ClaimKind.RAISES)
    failures.blame(lead, cause, (diagnosis,))
    failures.mark_consequences(cause.origin, places)


def _same(one: Evaluation, other: Evaluation) -> bool:
    """Whether two evaluations of the same problem raised the same and have the same gradients."""
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
    """Whether the ops that are wrong alone are so again."""
    some = list(wrong[:_OPS]) * _REPEATS
    applications, cotangents = [one.application for one in some], [one.operation.cotangents for one in some]
    again = engine.pull_back(applications, cotangents, failures.point.problem.dtype)
    return all(
        len(one.mine.gradients) == len(other.gradients) and all(map(_equal, one.mine.gradients, other.gradients))
        for one, other in zip(some, again, strict=True)
    )


def _equal(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    """Whether two are the same but for rounding: in which order gradients are added up may differ, and is nobody's
    mistake."""
    if one is None or other is None:
        return one is other
    return nearly_equal(one, other, rounding_tolerance(one.dtype, scale=largest_finite(other)))
