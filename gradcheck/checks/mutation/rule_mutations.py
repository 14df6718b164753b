"""Mutations of gradient rules, as people get them wrong: a sign, a factor, zeros, a transpose, one element off, a
broadcast not summed up, a mean for a sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from gradcheck.autograd.backward import Pull
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.node import plain
from gradcheck.autograd.op import Op
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.closeness.tolerance import base
from gradcheck.checks.mutation.core_mutation import Mutation, Shares, positions
from gradcheck.facts import fact

#: `change(share, tensor, gradient, position)` gives the wrong cotangent of one argument of one op: in place of `share`,
#: which the op's result `tensor`, having received `gradient`, hands down to the argument at this position.
Change = Callable[[np.ndarray, Tensor, np.ndarray, int], np.ndarray]

#: A factor this far from 1 must be seen, or a few times the dtype's own tolerance where that is coarser.
_FACTOR, _TOLERANCES = 1e-3, 10.0


def _negated(share: np.ndarray, tensor: Tensor, gradient: np.ndarray, position: int) -> np.ndarray:
    return -share


def _scaled(share: np.ndarray, tensor: Tensor, gradient: np.ndarray, position: int) -> np.ndarray:
    return _times(share, 1 + max(_FACTOR, _TOLERANCES * base(share.dtype).rtol))


def _zeroed(share: np.ndarray, tensor: Tensor, gradient: np.ndarray, position: int) -> np.ndarray:
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
    if not tensor.data.size or not share.size:
        return share
    number = share.size / tensor.data.size
    return _times(share, 1 / number if op.name == "sum" else number)


def _times(share: np.ndarray, factor: float) -> np.ndarray:
    """In the share's own dtype, rounded once."""
    return np.asarray(wide(share) * factor).astype(share.dtype)


def _always(op: Op) -> bool:
    return True


def _is_elementwise(op: Op) -> bool:
    return op.elementwise


def _is_sum_or_mean(op: Op) -> bool:
    return op.name in ("sum", "mean")


#: By kind of fact: what is done, and to the rules of which ops.
RULE_MUTATIONS: dict[str, tuple[Change, Callable[[Op], bool]]] = {
    "rule_negated": (_negated, _always),
    "rule_scaled": (_scaled, _always),
    "rule_zeroed": (_zeroed, _always),
    "rule_transposed": (_transposed, _always),
    "rule_one_element_off": (_one_off, _always),
    "rule_not_summed": (_unreduced, _is_elementwise),
    "rule_mean_for_sum": (_mean_for_sum, _is_sum_or_mean),
}


def rule_mutations(applied: Sequence[tuple[Op, int]]) -> Iterator[Mutation]:
    """Every mutation of the rules that a sweep has used, each given as an op and an argument's position."""
    for op, position in applied:
        argument = op.parameters[min(position, len(op.parameters) - 1)].name
        for kind, (change, fits) in RULE_MUTATIONS.items():
            if fits(op):
                where = fact("in_rule", op=op.name, argument=argument)
                yield Mutation(fact(kind), where, _in_rule(op, position, change), op)


def _in_rule(op: Op, position: int, change: Change) -> Callable[[Sequence[Tensor], Pull], Pull]:
    def wrap(roots: Sequence[Tensor], pull: Pull) -> Pull:
        def wrong(tensor: Tensor, gradient: np.ndarray) -> Shares:
            shares = list(pull(tensor, gradient))
            if tensor.creation_op is not op:
                return shares
            return [
                (creator, np.asarray(change(np.asarray(share), tensor, gradient, at)) if at == position else share)
                for at, (creator, share) in zip(positions(tensor), shares, strict=True)
            ]

        return wrong

    return wrap
