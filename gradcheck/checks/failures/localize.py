"""Where gradients go wrong first: the operation, or the tensor, behind which everything else is a consequence.

An op that is wrong on its own has been found by `nodes.py`. What remains is how gradients are put together: a tensor is
a fault's place if its gradient is not what its children's own gradients, as the engine has them, make of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.checks.claims.operations import WrongNode, positions
from gradcheck.checks.closeness.compare import wide
from gradcheck.checks.closeness.tolerance import base
from gradcheck.checks.failures.diagnosis.rules import ordinal
from gradcheck.checks.failures.gradient_flow import Flow, Followed
from gradcheck.engines.base import Evaluation
from gradcheck.engines.recording import arrays

#: A gradient follows from its children's if it is so many times nearer than engines must be to each other.
_MARGIN = 10.0
#: Of more faults, in branches of their own, the others are not looked for.
_MANY = 16


@dataclass(frozen=True, slots=True)
class Fault:
    """A tensor whose gradient does not follow from those of its children, in one pass of one engine."""

    tensor: str
    step: int
    got: np.ndarray | None  # what this pass added
    want: np.ndarray  # what its children's gradients make of it
    scale: float


# What a pass adds ----------------------------------------------------------------------------------


def added(evaluation: Evaluation, step: int) -> dict[str, np.ndarray | None]:
    """What one step has added to each gradient."""
    now = evaluation.states[step].gradients
    before: Mapping[str, np.ndarray | None] = evaluation.states[step - 1].gradients if step else {}
    return {name: _difference(gradient, before.get(name)) for name, gradient in now.items()}


def _difference(now: np.ndarray | None, before: np.ndarray | None) -> np.ndarray | None:
    if now is None or before is None or now.shape != before.shape or not np.any(before):
        return now
    with np.errstate(all="ignore"):
        return np.asarray(now - before)


# Where ---------------------------------------------------------------------------------------------


def faults(flow: Flow, gradients: Mapping[str, np.ndarray | None]) -> tuple[list[Fault], Followed]:
    """The tensors at which this engine's gradients do not follow from each other, in backward order."""
    followed = flow.follow(_held(flow, gradients))
    found = []
    for name, expected in followed.expected.items():
        if name not in gradients:
            continue
        got, scale = gradients[name], followed.scale(flow.tensors[name])
        if not _follows(got, expected, scale):
            found.append(Fault(name, flow.step, got, expected, scale))
    return found, followed


def _held(flow: Flow, gradients: Mapping[str, np.ndarray | None]) -> dict[str, np.ndarray]:
    """What tensors pass on: their gradients; zeros for one that has none if nothing that it was made from has any."""
    known = {name: gradient for name, gradient in gradients.items() if gradient is not None}
    passing = flow.above(*(name for name, gradient in known.items() if np.any(gradient)))
    silent = [name for name in gradients if name not in known and name not in passing and name in flow.tensors]
    return known | {name: np.zeros_like(flow.tensors[name].data) for name in silent if flow.tensors[name].creators}


def _follows(got: np.ndarray | None, expected: np.ndarray, scale: float) -> bool:
    if got is None:
        return not np.any(expected)
    if got.shape != expected.shape:
        return False
    with np.errstate(all="ignore"):
        left, right = wide(got), wide(expected)
        allowed = base(expected.dtype)
        top = float(np.max(np.abs(right), where=np.isfinite(right), initial=scale))
        close = np.abs(left - right) <= _MARGIN * (allowed.rtol * np.abs(right) + allowed.atol * top)
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        return bool((close | same).all())


def first(found: Sequence[Fault], flow: Flow) -> list[Fault]:
    """Those that no other lies above, in backward order; not all where there are many."""
    chosen: list[Fault] = []
    spoilt: set[str] = set()
    for fault in found:
        if len(chosen) < _MANY and fault.tensor not in spoilt:
            chosen.append(fault)
            spoilt |= flow.below(fault.tensor)
    return [fault for fault in chosen if fault.tensor not in spoilt]


# In words ------------------------------------------------------------------------------------------


def where(wrong: WrongNode) -> str:
    """`matmul at r`."""
    application = wrong.node.application
    return f"{application.op.name} at {application.owner}"


def sentence(group: Sequence[WrongNode], operations: int, wrong: int) -> str:
    """What is wrong with one op, and that the others are right."""
    first_one, *_ = group
    numbers = sorted({one.index for one in group})
    application = first_one.node.application
    tensors = sum(1 for _ in arrays(application.args, application.kwargs))
    places = positions(application)
    if first_one.mine.error or first_one.theirs.error:
        what = "its gradient rule fails"
    elif tensors < 2:
        what = "its gradient is wrong"
    elif len(numbers) == 1:
        what = f"gradient of its {ordinal(places[numbers[0]])} argument is wrong"
    else:
        names = " and ".join(ordinal(places[number]) for number in numbers)
        what = f"gradients of its {names} arguments are wrong"
    return f"{where(first_one)}: {what}{_others(operations, wrong)}"


def _others(operations: int, wrong: int) -> str:
    right = operations - wrong
    if wrong > 1:
        return f"; {wrong} of {operations} operations are wrong"
    if right < 1:
        return "; it is the only operation"
    return "; the other operation is right" if right == 1 else f"; all {right} other operations are right"


def accumulation(fault: Fault, operations: int, uses: int) -> str:
    """A tensor at which right contributions are put together wrongly."""
    shown = "gradients go wrong here" if uses < 2 else f"the contributions of its {uses} uses are put together wrongly"
    alone = {0: "", 1: "; the operation is right on its own"}.get(
        operations, f"; all {operations} operations are right on their own"
    )
    return f"{fault.tensor}: {shown}{alone}"
