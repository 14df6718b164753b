"""Faults to plant in the rules that a case uses, and in how contributions add up: what people get wrong.

A fault changes what single uses of tensors receive in the reverse sweep, and nothing else: no rule in the table, no
other evaluation. The catalogue: a sign, a factor, a transpose, a lost or doubled use, one use overwriting another, a
broadcast not summed up, a mean for a sum, one element off, zeros, and a pass that replaces the gradients of the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from gradcheck.autograd.backward import Pull, count_pending
from gradcheck.autograd.node import plain
from gradcheck.autograd.op import Op
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.closeness.tolerance import base

Shares = list[tuple[Tensor, np.ndarray]]
#: `change(share, tensor, gradient, position)` gives the wrong cotangent of one argument of one op.
Change = Callable[[np.ndarray, Tensor, np.ndarray, int], np.ndarray]

#: A factor this far from 1 must be seen, or a few times the dtype's own tolerance where that is coarser.
_FACTOR, _TOLERANCES = 1e-3, 10.0
#: In longer graphs only so many tensors that are used more than once lose, double or overwrite a use.
MAX_REUSED = 12


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: `wrap` is given the roots and the sweep's `pull`, and gives the faulty one. A rule's fault shows in
    the op alone too, wherever that is applied; one that `overwrites` is between passes."""

    kind: str
    where: str
    wrap: Callable[[Sequence[Tensor], Pull], Pull] = field(default=lambda roots, pull: pull, compare=False)
    op: Op | None = None
    overwrites: bool = False


# In rules --------------------------------------------------------------------------------------------


def _negated(share: np.ndarray, tensor: Tensor, gradient: np.ndarray, position: int) -> np.ndarray:
    return -share


def _scaled(share: np.ndarray, tensor: Tensor, gradient: np.ndarray, position: int) -> np.ndarray:
    return _times(share, 1 + max(_FACTOR, _TOLERANCES * base(share.dtype).rtol))


def _zero(share: np.ndarray, tensor: Tensor, gradient: np.ndarray, position: int) -> np.ndarray:
    return np.zeros_like(share)


def _transposed(share: np.ndarray, tensor: Tensor, gradient: np.ndarray, position: int) -> np.ndarray:
    """The numbers of the transpose; in the right shape, so that no shape gives it away."""
    return np.swapaxes(share, -1, -2).reshape(share.shape) if share.ndim > 1 else share


def _one_off(share: np.ndarray, tensor: Tensor, gradient: np.ndarray, position: int) -> np.ndarray:
    """The last element, by a hundredth of the largest, or a few times the dtype's tolerance."""
    wrong = np.array(share)
    if wrong.size:
        step = max(10 * _FACTOR, _TOLERANCES * base(share.dtype).rtol)
        wrong.flat[-1] += wrong.dtype.type(step * float(np.max(np.abs(share)).astype(np.float64)))
    return wrong


def _unreduced(share: np.ndarray, tensor: Tensor, gradient: np.ndarray, position: int) -> np.ndarray:
    """What the rule gives, before what broadcasting repeated is summed up: of the result's shape."""
    op = tensor.creation_op
    assert op is not None
    rule = op.rules[position] if position < len(op.rules) else None
    if not op.elementwise or rule is None or share.shape == tensor.data.shape or share.dtype.kind == "c":
        return share
    return np.asarray(rule(gradient, tensor.data, *plain(op, tensor.arguments))).astype(share.dtype)


def _mean_for_sum(share: np.ndarray, tensor: Tensor, gradient: np.ndarray, position: int) -> np.ndarray:
    """A mean's gradient where a sum's is due, and the other way round."""
    op = tensor.creation_op
    assert op is not None
    if op.name not in ("sum", "mean") or not tensor.data.size or not share.size:
        return share
    number = share.size / tensor.data.size
    return _times(share, 1 / number if op.name == "sum" else number)


def _times(share: np.ndarray, factor: float) -> np.ndarray:
    """In the share's own dtype, rounded once."""
    wide = np.complex128 if share.dtype.kind == "c" else np.float64
    return np.asarray(share.astype(wide) * factor).astype(share.dtype)


IN_RULES: dict[str, Change] = {
    "negated": _negated,
    "factor": _scaled,
    "zero": _zero,
    "transposed": _transposed,
    "one element off": _one_off,
    "broadcast not summed": _unreduced,
    "mean for sum": _mean_for_sum,
}


def rule_faults(applied: Sequence[tuple[Op, int]]) -> Iterator[Fault]:
    """Every fault of the rules that a sweep has used, each given as an op and an argument's position."""
    for op, position in applied:
        name = op.parameters[min(position, len(op.parameters) - 1)].name
        for kind, change in IN_RULES.items():
            if kind == "mean for sum" and op.name not in ("sum", "mean"):
                continue
            if kind == "broadcast not summed" and not op.elementwise:
                continue
            yield Fault(kind, f"the rule of {op.name} for '{name}'", _in_rule(op, position, change), op)


def _in_rule(op: Op, position: int, change: Change) -> Callable[[Sequence[Tensor], Pull], Pull]:
    def wrap(roots: Sequence[Tensor], pull: Pull) -> Pull:
        def faulty(tensor: Tensor, gradient: np.ndarray) -> Shares:
            shares = list(pull(tensor, gradient))
            if tensor.creation_op is not op:
                return shares
            return [
                (creator, np.asarray(change(np.asarray(share), tensor, gradient, at)) if at == position else share)
                for at, (creator, share) in zip(positions(tensor), shares, strict=True)
            ]

        return faulty

    return wrap


def positions(tensor: Tensor) -> list[int]:
    """Which argument of its op each of the shares that a tensor hands down belongs to."""
    op = tensor.creation_op
    found: list[int] = []
    for position, arg in enumerate(tensor.arguments):
        if op is not None and position == op.sequence:
            found += [position for item in arg if type(item) is Tensor and item.requires_grad]
        elif type(arg) is Tensor and arg.requires_grad:
            found.append(position)
    return found


# In the sweep ----------------------------------------------------------------------------------------


def _last(number: int, count: int, share: np.ndarray) -> np.ndarray:
    """Without the last contribution."""
    return np.zeros_like(share) if number == count else share


def _twice(number: int, count: int, share: np.ndarray) -> np.ndarray:
    """The last contribution counted twice."""
    return share + share if number == count else share


def _overwritten(number: int, count: int, share: np.ndarray) -> np.ndarray:
    """The last contribution alone."""
    return share if number == count else np.zeros_like(share)


IN_SWEEP = {"a use lost": _last, "a use twice": _twice, "uses overwritten": _overwritten}


def reused(roots: Sequence[Tensor]) -> list[tuple[int, int, str]]:
    """Of tensors that receive several contributions: their place in the sweep's order, how many, and what they are."""
    found = []
    for place, (tensor, count) in enumerate(count_pending(roots).items()):
        if count > 1:
            what = f"a result of {tensor.creation_op.name}" if tensor.creation_op else "a leaf"
            found.append((place, count, f"{what} of shape {list(tensor.data.shape)}, used {count} times"))
    return found[:MAX_REUSED]


def sweep_faults(places: Sequence[tuple[int, int, str]]) -> Iterator[Fault]:
    """The faults of tensors used several times."""
    for place, _, what in places:
        for kind, change in IN_SWEEP.items():
            yield Fault(kind, what, _in_sweep(place, change))


def _in_sweep(
    place: int, change: Callable[[int, int, np.ndarray], np.ndarray]
) -> Callable[[Sequence[Tensor], Pull], Pull]:
    def wrap(roots: Sequence[Tensor], pull: Pull) -> Pull:
        order = list(count_pending(roots).items())
        if place >= len(order):
            return pull
        target, count = order[place]
        seen = 0

        def faulty(tensor: Tensor, gradient: np.ndarray) -> Shares:
            nonlocal seen
            shares: Shares = []
            for creator, share in pull(tensor, gradient):
                if creator is target:
                    seen += 1
                    share = change(seen, count, share)
                shares.append((creator, share))
            return shares

        return faulty

    return wrap


#: Between passes: the gradient of the second replaces that of the first.
OVERWRITTEN = Fault("passes overwritten", "gradients of a second backward pass", overwrites=True)
