"""Localization of faults: the op or tensor where gradients go wrong first.

`claims/operations` finds ops that are wrong alone. A tensor is a fault if its gradient does not follow from the
engine's own gradients of its children.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.autograd.dtypes import largest_finite
from gradcheck.checks.claims.operations import gradient_positions
from gradcheck.checks.closeness.compare import nearly_equal, rounding_tolerance
from gradcheck.checks.failures.gradient_flow import BackwardRecord, GradientFlow
from gradcheck.checks.result import Cause, WrongOperation
from gradcheck.engines.base import Evaluation
from gradcheck.engines.recording import arrays
from gradcheck.facts import Fact, fact

#: A gradient follows from its children's within so many times the engines' tolerance.
_MARGIN = 10.0
#: The most faults, in branches of their own.
_MANY = 16


@dataclass(frozen=True, slots=True)
class Fault:
    """A tensor whose gradient does not follow from its children's in one pass."""

    tensor: str
    step: int
    got: np.ndarray | None  # what this pass added
    want: np.ndarray  # what its children's gradients make of it
    scale: float

    @property
    def origin(self) -> Fact:
        return fact("tensor", name=self.tensor)


def gradient_increments(evaluation: Evaluation, step: int) -> dict[str, np.ndarray | None]:
    now = evaluation.states[step].gradients
    before: Mapping[str, np.ndarray | None] = evaluation.states[step - 1].gradients if step else {}
    return {name: _difference(gradient, before.get(name)) for name, gradient in now.items()}


def _difference(now: np.ndarray | None, before: np.ndarray | None) -> np.ndarray | None:
    if now is None or before is None or now.shape != before.shape or not np.any(before):
        return now
    with np.errstate(all="ignore"):
        return np.asarray(now - before)


def find_faults(
    flow: GradientFlow,
    gradients: Mapping[str, np.ndarray | None],
    explains: Callable[[str], np.ndarray | None] = lambda name: None,
) -> tuple[list[Fault], BackwardRecord]:
    """Return the faults in backward order, and the pass that shows them.

    `explains` returns the measured rounding of a tensor's gradient, if any.
    """
    record = flow.run_backward(_passed_on_gradients(flow, gradients))
    found = []
    for name, expected in record.expected.items():
        if name not in gradients:
            continue
        got, scale = gradients[name], record.scale(flow.tensors[name])
        if not _follows(got, expected, scale) and not _is_rounding(got, expected, explains(name)):
            found.append(Fault(name, flow.step, got, expected, scale))
    return found, record


def _passed_on_gradients(flow: GradientFlow, gradients: Mapping[str, np.ndarray | None]) -> dict[str, np.ndarray]:
    """Return the gradients, zeros for tensors whose operands have none either."""
    known = {name: gradient for name, gradient in gradients.items() if gradient is not None}
    passing = flow.descendants(*(name for name, gradient in known.items() if np.any(gradient)))
    silent = [name for name in gradients if name not in known and name not in passing and name in flow.tensors]
    return known | {name: np.zeros_like(flow.tensors[name].data) for name in silent if flow.tensors[name].creators}


def _follows(got: np.ndarray | None, expected: np.ndarray, scale: float) -> bool:
    """Return whether a gradient follows from the children's, up to rounding."""
    if got is None:
        return not np.any(expected)
    scale = max(scale, largest_finite(expected))
    return nearly_equal(got, expected, rounding_tolerance(expected.dtype, scale=scale, margin=_MARGIN))


def _is_rounding(got: np.ndarray | None, expected: np.ndarray, measured: np.ndarray | None) -> bool:
    """Return whether two differ by measured rounding; measuring is slow."""
    if got is None or measured is None or measured.shape != expected.shape:
        return False
    return nearly_equal(got, expected, rounding_tolerance(expected.dtype, scale=0.0, margin=_MARGIN), measured)


def contributing_entries(flow: GradientFlow, gradients: Mapping[str, np.ndarray | None], tensor: str) -> set[str]:
    """Return the entries a gradient comes from, past unreadable gradients."""
    found: set[str] = set()
    silent = [tensor]
    while silent:
        new = flow.children(silent.pop()) - found
        found |= new
        silent += [name for name in flow.tensors_of(*new) if gradients.get(name) is None]
    return found


def first_faults(found: Sequence[Fault], flow: GradientFlow) -> list[Fault]:
    """Return the faults with no other above, at most _MANY."""
    chosen: list[Fault] = []
    affected: set[str] = set()
    for fault in found:
        if len(chosen) < _MANY and fault.tensor not in affected:
            chosen.append(fault)
            affected |= flow.ancestors(fault.tensor)
    return [fault for fault in chosen if fault.tensor not in affected]


#: Faults of a backward pass, which belong to no op.
PASS_FAULTS = ("goes_wrong_through_graph", "put_together_wrongly", "shared_argument")


def origin_of(wrong: WrongOperation) -> Fact:
    """Return the origin that an op at its entry is."""
    op, entry = wrong.application.op.name, wrong.application.owner
    if wrong.inside:
        return fact("op_inside", op=op, entry=entry, outer=wrong.inside)
    return fact("op_at", op=op, entry=entry)


def wrong_rule_cause(group: Sequence[WrongOperation], counts: tuple[int, int], made_of: tuple[str, ...] = ()) -> Cause:
    """Return the cause that a wrong op is.

    Args:
            counts: the operations of the graph, and the wrong ones among them.
            made_of: the ops whose methods the engine's own calls.
    """
    operations, wrong = counts
    one, *_ = group
    numbers = sorted({other.index for other in group})
    application = one.application
    places = gradient_positions(application)
    if one.mine.error or one.theirs.error:
        what = fact("it_raises" if one.mine.in_forward else "rule_fails")
    elif application.shared:
        what = fact("shared_argument")
    elif sum(1 for _ in arrays(application.args, application.kwargs)) < 2:
        what = fact("its_gradient_is_wrong")
    else:
        what = fact("gradients_of_arguments_are_wrong", arguments=tuple(places[number] for number in numbers))
    among = fact("among_operations", what=what, operations=operations, wrong=wrong, made_of=made_of)
    return Cause(origin_of(one), among)


def wrong_accumulation_cause(fault: Fault, operations: int, uses: int) -> Cause:
    """Return the cause that a fault is, by its number of uses."""
    return Cause(fault.origin, fact("put_together_wrongly", uses=uses, operations=operations))
