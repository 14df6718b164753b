"""Mutations of how gradients add up: a use that is lost, counted twice or overwrites the others; a pass that replaces
what the last one left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.autograd.backward import Pull, count_pending
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.mutation.core_mutation import Mutation, Shares
from gradcheck.facts import fact

#: `change(number, count, share)` gives the wrong contribution in place of the one with this number, from 1, of `count`.
Change = Callable[[int, int, np.ndarray], np.ndarray]

#: In longer graphs only so many tensors that are used more than once lose, double or overwrite a use.
MAX_REUSED = 12


def _lost(number: int, count: int, share: np.ndarray) -> np.ndarray:
    """Without the last contribution."""
    return np.zeros_like(share) if number == count else share


def _doubled(number: int, count: int, share: np.ndarray) -> np.ndarray:
    """The last contribution counted twice."""
    return share + share if number == count else share


def _overwritten(number: int, count: int, share: np.ndarray) -> np.ndarray:
    """The last contribution alone."""
    return share if number == count else np.zeros_like(share)


#: By kind of fact.
SWEEP_MUTATIONS: dict[str, Change] = {
    "use_lost": _lost,
    "use_doubled": _doubled,
    "uses_overwritten": _overwritten,
}

#: Between passes: the gradient of the second replaces that of the first.
PASSES_OVERWRITTEN = Mutation(fact("passes_overwritten"), fact("in_second_pass"), overwrites=True)


@dataclass(frozen=True, slots=True)
class Reused:
    """A tensor that receives several contributions: its place in the order of `count_pending`, how many it receives,
    the op whose result it is (empty for a leaf), and its shape."""

    place: int
    count: int
    op: str
    shape: tuple[int, ...]


def reused(roots: Sequence[Tensor]) -> list[Reused]:
    """The first tensors below these roots that receive several contributions."""
    found = []
    for place, (tensor, count) in enumerate(count_pending(roots).items()):
        if count > 1:
            op = tensor.creation_op.name if tensor.creation_op else ""
            found.append(Reused(place, count, op, tensor.data.shape))
    return found[:MAX_REUSED]


def sweep_mutations(tensors: Sequence[Reused]) -> Iterator[Mutation]:
    """The mutations of tensors that are used several times."""
    for one in tensors:
        where = fact("in_uses", op=one.op, shape=one.shape, count=one.count)
        for kind, change in SWEEP_MUTATIONS.items():
            yield Mutation(fact(kind), where, _at(one.place, change))


def _at(place: int, change: Change) -> Callable[[Sequence[Tensor], Pull], Pull]:
    def wrap(roots: Sequence[Tensor], pull: Pull) -> Pull:
        order = list(count_pending(roots).items())
        if place >= len(order):
            return pull
        target, count = order[place]
        seen = 0

        def wrong(tensor: Tensor, gradient: np.ndarray) -> Shares:
            nonlocal seen
            shares: Shares = []
            for creator, share in pull(tensor, gradient):
                if creator is target:
                    seen += 1
                    share = change(seen, count, share)
                shares.append((creator, share))
            return shares

        return wrong

    return wrap
