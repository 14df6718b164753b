"""Plans: how to pull back the nodes that a compiled function makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcheck.autograd.compiled.buffer_release import Reads, ReleasedRead
from gradcheck.autograd.compiled.compiled_node import CompiledNode
from gradcheck.autograd.compiled.generated_code import places_of, pulled
from gradcheck.autograd.compiled.tracing import Untraceable
from gradcheck.autograd.op import Op
from gradcheck.autograd.pullback import Share, pull_arrays, pull_values


class Plan:
    """A way to pull back nodes that one op made of tensors of one kind.

    sequence  the place of the argument that is a sequence with all tensors; None if the arguments are the tensors
    wanted    the places, there, of tensors that required a gradient when the node was made
    unwanted  the places of tensors that may require one, but did not
    only      the place of the only wanted tensor, if the arguments are the tensors; else None
    pull      `pull(node, gradient)` returns the shares as `pull_arrays` does, or the share alone if there is an `only`
    reads     the values that `pull` reads (`buffer_release`), once computed
    """

    __slots__ = ("_left", "only", "pull", "reads", "sequence", "unwanted", "wanted")

    def __init__(self, sequence: int | None, places: Sequence[int], wanted: tuple[bool, ...], pulls: int) -> None:
        """After so many `pulls` compiling is worth its time."""
        self.sequence, self._left = sequence, pulls
        self.wanted = tuple(place for place, is_wanted in zip(places, wanted, strict=True) if is_wanted)
        self.unwanted = tuple(place for place in places if place not in self.wanted)
        self.only = self.wanted[0] if sequence is None and len(self.wanted) == 1 else None
        self.reads: Reads | None = None
        self.pull: Callable[[Any, np.ndarray], Any] = self._pull_and_compile

    def _pull_and_compile(self, node: Any, gradient: np.ndarray) -> Any:
        self._left -= 1
        if self._left <= 0:
            try:
                self.pull = pulled(node, gradient, self.general, self.only is not None)
            except Exception:  # the general path raises it in words
                self.pull = self.general
        return self.general(node, gradient)

    def general(self, node: Any, gradient: np.ndarray) -> Any:
        """Do what `pull` does, by the op's rules."""
        shares = pull_node(node, gradient)
        return shares if self.only is None else shares[0][1]


class Plans(dict[tuple[bool, ...], Plan]):
    """A compiled function's plans, by which float tensors require a gradient."""

    def __init__(self, op: Op, bound: Sequence[Any], pulls: int = 1) -> None:
        """Find the tensors' places in sample arguments. Raises Untraceable."""
        super().__init__()
        places = places_of(op, bound)
        self._sequence = places[0][0] if len(places[0]) > 1 else None
        if any((place[0] if len(place) > 1 else None) != self._sequence for place in places):
            raise Untraceable  # tensors in a sequence and beside it
        listed = bound if self._sequence is None else bound[self._sequence]
        self._places = [place[-1] for place in places if listed[place[-1]].data.dtype.kind == "f"]
        self._pulls = pulls

    def __missing__(self, wanted: tuple[bool, ...]) -> Plan:
        plan = self[wanted] = Plan(self._sequence, self._places, wanted, self._pulls)
        return plan


def pull_node(node: Any, gradient: np.ndarray) -> list[Share]:
    """Do what `pull_arrays` does, but leave unread values released."""
    op, values = node.creation_op, list(map(_kept, node.arguments))
    if op.sequence is not None:
        values[op.sequence] = list(map(_kept, node.arguments[op.sequence]))
    try:
        return pull_values(node, gradient, node.array, values)
    except ReleasedRead:  # a gradient became wanted after the release
        return pull_arrays(node, gradient)


def _kept(arg: Any) -> Any:
    return arg.array if isinstance(arg, CompiledNode) else arg
