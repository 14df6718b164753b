"""What is wrong with an engine before any gradient: it answers otherwise each time, recurses, or has wrong values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from gradcheck.checks.claims.operations import WrongNode
from gradcheck.checks.failures.alone import MORE_POINTS
from gradcheck.checks.failures.diagnosis import Evidence
from gradcheck.checks.failures.docket import Diagnoses, Docket
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.language.expr.nodes import Call, Name

#: How often an engine is asked again whether it answers the same, and about how many ops.
_REPEATS, _OPS = 4, 20

_RECURSES = ("the backward pass: it recurses", {
    "kind": "recursion", "confidence": "confirmed",
    "message": "the backward pass calls itself for every tensor that a gradient reaches; a long graph is deeper than "
               "Python's stack",
})  # fmt: skip
_BY_CHANCE = ("chance: the engine does not give the same answer twice", {
    "kind": "not_deterministic", "confidence": "confirmed",
    "message": "the same pass once more gives other gradients, or another error: something random decides, such as "
               "tensors told apart by random numbers, of which two may be the same",
})  # fmt: skip


def is_unreliable(docket: Docket, engine: Engine, wrong: Sequence[WrongNode]) -> bool:
    """Tell of an engine that recurses, or answers otherwise when it is asked again; whether it is one."""
    evaluation = docket.points.evaluation(engine, 0)
    errors = [evaluation.error, *(state.error for state in evaluation.states)]
    if any(error is not None and error.kind == "recursion" for error in errors):
        _blame(docket, engine, *_RECURSES)
        return True
    again = (engine.evaluate(docket.problem) for _ in range(_REPEATS))
    if all(_same(evaluation, other) for other in again) and _same_alone(docket, engine, wrong):
        return False
    _blame(docket, engine, *_BY_CHANCE)
    return True


def _blame(docket: Docket, engine: Engine, cause: str, diagnosis: dict[str, str]) -> None:
    places = docket.failed((), engine.name)
    lead = min(places, key=lambda place: docket.comparisons[place].what != "raises")
    docket.change(lead, cause=cause, diagnoses=(diagnosis,), consequence_of="")
    docket.spoil(places, cause.partition(":")[0])


def _same(one: Evaluation, other: Evaluation) -> bool:
    """Whether two evaluations of the same problem raised the same and have the same gradients."""
    if (one.error and one.error.kind) != (other.error and other.error.kind) or len(one.states) != len(other.states):
        return False
    return all(
        mine.gradients.keys() == theirs.gradients.keys()
        and all(_equal(gradient, theirs.gradients[name]) for name, gradient in mine.gradients.items())
        for mine, theirs in zip(one.states, other.states, strict=True)
    )


def _same_alone(docket: Docket, engine: Engine, wrong: Sequence[WrongNode]) -> bool:
    """Whether the ops that are wrong alone are so again."""
    some = list(islice(wrong, _OPS)) * _REPEATS
    again = engine.pull_back(
        [one.node.application for one in some], [one.node.cotangents for one in some], docket.problem.dtype
    )
    return all(
        len(one.mine.gradients) == len(other.gradients) and all(map(_equal, one.mine.gradients, other.gradients))
        for one, other in zip(some, again, strict=True)
    )


def _equal(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and bool(np.all((one == other) | ((one != one) & (other != other))))


# Values --------------------------------------------------------------------------------------------


def has_wrong_values(docket: Docket, engine: Engine) -> bool:
    """Tell of the first wrong value, from which everything else may follow; whether there is one."""
    places = docket.failed(("value",), engine.name)
    if not places:
        return False
    own = [place for place in places if docket.comparisons[place].trial is None]
    lead = docket.comparisons[(own or places)[0]]
    changed = docket.points.evaluation(engine, 0).changed
    where = f"{_op_at(docket, lead.tensor)}"
    told: Diagnoses
    if changed and lead.trial is None:
        names = ", ".join(changed)
        where, cause = f"{engine.name}'s ops", f"{engine.name}'s ops: they change their arguments ({names}) in place"
        told = ({"kind": "input_mutated", "confidence": "confirmed",
                 "message": f"input mutated: after the run {names} is not what the engine was given; an op writes its "
                            "result into the memory of an argument"},)  # fmt: skip
    else:
        cause = f"{where}: its value is wrong, in the forward pass already"
        told = docket.why(_values(docket, engine, lead.tensor)) if lead.trial is None else ()
    docket.change((own or places)[0], cause=cause, diagnoses=told)
    docket.spoil(docket.failed((), engine.name), where)
    return True


def _op_at(docket: Docket, tensor: str) -> str:
    """`tanh at h` for an entry that is one op of names; otherwise the entry."""
    claim = docket.problem.case.graph.get(tensor.partition("[")[0])
    if claim is not None and isinstance(claim.expr, Call) and all(isinstance(c, Name) for c in claim.expr.args):
        return f"{claim.expr.op} at {tensor}"
    return tensor


def _values(docket: Docket, engine: Engine, tensor: str) -> Iterator[Evidence]:
    for number in range(MORE_POINTS + 1):
        mine = docket.points.evaluation(engine, number).states
        theirs = docket.points.evaluation(docket.reference, number).states
        if mine and theirs and tensor in theirs[0].values:
            others = {name: value for name, value in theirs[0].values.items() if name != tensor}
            yield Evidence(mine[0].values.get(tensor), theirs[0].values[tensor], others=others)
