"""Where gradients go wrong first: the operation, or the tensor, behind which everything else is a consequence.

An op that is wrong on its own has been found by `claims/operations`. What remains is how gradients are put together: a
tensor is a fault's place if its gradient is not what its children's own gradients, as the engine has them, make of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.autograd.dtypes import largest_finite
from gradcheck.checks.claims.operations import gradient_positions
from gradcheck.checks.closeness.nearly_equal import nearly_equal, rounding_tolerance
from gradcheck.checks.failures.gradient_flow import BackwardRecord, GradientFlow
from gradcheck.checks.result import Cause, WrongOperation
from gradcheck.engines.base import Evaluation
from gradcheck.engines.recording import arrays
from gradcheck.facts import Fact, fact

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

    @property
    def origin(self) -> Fact:
        """The tensor, as the origin of what follows from it."""
        return fact("tensor", name=self.tensor)


# What a pass adds ----------------------------------------------------------------------------------


def gradient_increments(evaluation: Evaluation, step: int) -> dict[str, np.ndarray | None]:
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


def find_faults(
    flow: GradientFlow,
    gradients: Mapping[str, np.ndarray | None],
    explains: Callable[[str], np.ndarray | None] = lambda name: None,
) -> tuple[list[Fault], BackwardRecord]:
    """The tensors at which this engine's gradients do not follow from each other, in backward order. `explains` says
    what each element of a tensor's gradient may be off by for rounding, where that is known."""
    followed = flow.run_backward(_passed_on_gradients(flow, gradients))
    found = []
    for name, expected in followed.expected.items():
        if name not in gradients:
            continue
        got, scale = gradients[name], followed.scale(flow.tensors[name])
        if not _follows(got, expected, scale, explains(name)):
            found.append(Fault(name, flow.step, got, expected, scale))
    return found, followed


def _passed_on_gradients(flow: GradientFlow, gradients: Mapping[str, np.ndarray | None]) -> dict[str, np.ndarray]:
    """What tensors pass on: their gradients; zeros for one that has none if nothing that it was made from has any."""
    known = {name: gradient for name, gradient in gradients.items() if gradient is not None}
    passing = flow.descendants(*(name for name, gradient in known.items() if np.any(gradient)))
    silent = [name for name in gradients if name not in known and name not in passing and name in flow.tensors]
    return known | {name: np.zeros_like(flow.tensors[name].data) for name in silent if flow.tensors[name].creators}


def _follows(got: np.ndarray | None, expected: np.ndarray, scale: float, explained: np.ndarray | None) -> bool:
    """Return whether a gradient is what the children's gradients make of it, up to rounding."""
    if got is None:
        return not np.any(expected)
    scale = max(scale, largest_finite(expected))
    if nearly_equal(got, expected, rounding_tolerance(expected.dtype, scale=scale, margin=_MARGIN)):
        return True
    measured = explained is not None and explained.shape == expected.shape
    by_element = rounding_tolerance(expected.dtype, scale=0.0, margin=_MARGIN)
    return measured and nearly_equal(got, expected, by_element, explained)


def contributing_entries(flow: GradientFlow, gradients: Mapping[str, np.ndarray | None], tensor: str) -> set[str]:
    """The entries whose ops this tensor's gradient comes from, as far as gradients in between cannot be read."""
    found: set[str] = set()
    silent = [tensor]
    while silent:
        new = flow.children(silent.pop()) - found
        found |= new
        silent += [n for n in flow.tensors if n.partition("[")[0] in new and gradients.get(n) is None]
    return found


def first_faults(found: Sequence[Fault], flow: GradientFlow) -> list[Fault]:
    """Those that no other lies above, in backward order; not all where there are many."""
    chosen: list[Fault] = []
    spoilt: set[str] = set()
    for fault in found:
        if len(chosen) < _MANY and fault.tensor not in spoilt:
            chosen.append(fault)
            spoilt |= flow.ancestors(fault.tensor)
    return [fault for fault in chosen if fault.tensor not in spoilt]


# What is wrong there -------------------------------------------------------------------------------


def origin_of(wrong: WrongOperation) -> Fact:
    """The op and its graph entry, as the origin of what follows from it; and the op that it is a part of."""
    op, entry = wrong.application.op.name, wrong.application.owner
    return (
        fact("op_inside", op=op, entry=entry, outer=wrong.inside) if wrong.inside else fact("op_at", op=op, entry=entry)
    )


def wrong_rule_cause(group: Sequence[WrongOperation], counts: tuple[int, int], made_of: tuple[str, ...] = ()) -> Cause:
    """What is wrong with one op, by how many operations there are and how many of these are wrong; `made_of` names the
    ops whose methods the engine's own calls."""
    operations, wrong = counts
    one, *_ = group
    numbers = sorted({other.index for other in group})
    application = one.application
    places = gradient_positions(application)
    if one.mine.error or one.theirs.error:
        what = fact("rule_fails")
    elif application.shared:
        what = fact("shared_argument")
    elif sum(1 for _ in arrays(application.args, application.kwargs)) < 2:
        what = fact("its_gradient_is_wrong")
    else:
        what = fact("gradients_of_arguments_are_wrong", arguments=tuple(places[number] for number in numbers))
    told = fact("among_operations", what=what, operations=operations, wrong=wrong, made_of=made_of)
    return Cause(origin_of(one), told)


def wrong_accumulation_cause(fault: Fault, operations: int, uses: int) -> Cause:
    """A tensor at which right contributions are put together wrongly."""
    return Cause(fault.origin, fact("put_together_wrongly", uses=uses, operations=operations))
