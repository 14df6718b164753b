"""Wrong ways through a graph: what each would leave in every tensor, run on the core's graph by the core's rules.

A pass knows nothing of who might have run it. In which order an op's operands are taken is not the pass's doing: where
a class keeps them in a set, it is another for every op and every run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gradcheck.autograd.pullback import pull_arrays
from gradcheck.autograd.tensor import Tensor
from gradcheck.facts import Fact, fact

Totals = dict[Tensor, np.ndarray]
#: So many visits are made at most: a pass on each arrival makes 2^n of them.
_MOST_VISITS = 2_000
#: Of graphs with no more ops than these, every order of operands is tried.
_MOST_ORDERED = 5
#: By their bits, the ops whose operands are taken from the last to the first.
AS_WRITTEN, REVERSED = 0, -1


@dataclass(frozen=True, slots=True)
class TraversedGraph:
    """Where a pass starts, where earlier passes over the same graph started, and the ops, by number, with those whose
    operands are taken `backwards`."""

    roots: Sequence[Tensor]
    seeds: Sequence[np.ndarray]
    earlier_starts: Sequence[Totals]
    numbers: Mapping[Tensor, int]
    reversed_ops: int = AS_WRITTEN

    def shares(self, tensor: Tensor, gradient: np.ndarray) -> list[tuple[Tensor, np.ndarray]]:
        """What a tensor passes on to each operand: its own array where that is the same."""
        if tensor.creation_op is None:
            return []
        found = [(operand, _own(share, gradient)) for operand, share in pull_arrays(tensor, np.asarray(gradient))]
        return found[::-1] if self._is_reversed(tensor) else found

    def operands(self, tensor: Tensor) -> Sequence[Tensor]:
        """Of what a tensor is made, in the order in which they are taken."""
        return tensor.creators[::-1] if self._is_reversed(tensor) else tensor.creators

    def _is_reversed(self, tensor: Tensor) -> bool:
        return bool(self.reversed_ops >> self.numbers.get(tensor, 0) & 1)

    def initial_totals(self) -> Totals:
        """What roots begin with."""
        return {root: np.array(seed) for root, seed in zip(self.roots, self.seeds, strict=True)}

    def operand_orders(self) -> Iterator[int]:
        """Every way of taking the operands of its ops; where these are many, the two that are alike for all."""
        many = len(self.numbers) > _MOST_ORDERED
        yield from (AS_WRITTEN, REVERSED) if many else range(2 ** len(self.numbers))

    def topological_order(self) -> list[Tensor]:
        """Every tensor before its operands."""
        found: list[Tensor] = []
        seen: set[Tensor] = set()
        stack = [(root, False) for root in self.roots]
        while stack:
            tensor, done = stack.pop()
            if done:
                found.append(tensor)
            elif tensor not in seen:
                seen.add(tensor)
                stack += [(tensor, True), *((operand, False) for operand in reversed(self.operands(tensor)))]
        return found[::-1]


def _own(share: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    return gradient if share.shape == gradient.shape and np.array_equal(share, gradient) else np.array(share)


#: What every tensor holds in the end. None where a pass takes too long, or could not have been.
Traversal = Callable[[TraversedGraph], Totals | None]


class TraversalFault(NamedTuple):
    """A kind of mistake, what is told of it, and the passes that make it, of whatever class. One that is like another
    in some order of operands is told in the same order everywhere alone (`in_any_order`)."""

    kind: str
    message: Fact
    traversals: tuple[Traversal, ...]
    in_any_order: bool = True


def _add(totals: Totals, tensor: Tensor, share: np.ndarray) -> None:
    totals[tensor] = totals[tensor] + share if tensor in totals else share


# Passes in a wrong order ------------------------------------------------------------------------------


class _EagerTraversal:
    """What has arrived at every tensor, and what it keeps: all that arrives, or what it has at its turn, each time that
    it has one (`at_turn`)."""

    def __init__(self, graph: TraversedGraph, *, once: bool, at_turn: bool) -> None:
        self.totals, self.kept, self.seen = graph.initial_totals(), Totals(), set[Tensor]()
        self.graph, self.once, self.at_turn = graph, once, at_turn

    def visit(self, tensor: Tensor) -> list[tuple[Tensor, np.ndarray]]:
        """What a tensor passes on at its turn; nothing at a second one, where it is passed on `once`."""
        if self.once and tensor in self.seen:
            return []
        self.seen.add(tensor)
        _add(self.kept, tensor, self.totals[tensor])
        return self.graph.shares(tensor, self.totals[tensor])

    @property
    def found(self) -> Totals:
        return self.kept if self.at_turn else self.totals


def _pass_on_by_queue(graph: TraversedGraph, *, once: bool, first_in: bool, at_turn: bool) -> Totals | None:
    """What a tensor has by then it passes on when its turn comes: on each arrival, or `once`."""
    arrivals, waiting = _EagerTraversal(graph, once=once, at_turn=at_turn), deque(graph.roots)
    for _ in range(_MOST_VISITS):
        if not waiting:
            return arrivals.found
        shares = arrivals.visit(waiting.popleft() if first_in else waiting.pop())
        for operand, share in shares:
            _add(arrivals.totals, operand, share)
        waiting.extend(operand for operand, _ in (shares if first_in else shares[::-1]))
    return None


def _pass_on_by_recursion(graph: TraversedGraph, *, once: bool, at_turn: bool) -> Totals | None:
    """Recursion: as soon as something arrives at an operand, all that it has by then is passed on."""
    arrivals = _EagerTraversal(graph, once=once, at_turn=at_turn)
    waiting = [iter(arrivals.visit(root)) for root in reversed(graph.roots)]
    for _ in range(_MOST_VISITS):
        if not waiting:
            return arrivals.found
        arriving = next(waiting[-1], None)
        if arriving is None:
            waiting.pop()
            continue
        operand, share = arriving
        _add(arrivals.totals, operand, share)
        waiting.append(iter(arrivals.visit(operand)))
    return None


def _eager_traversals(*, once: bool, at_turn: bool) -> tuple[Traversal, ...]:
    """Every way of passing on what has arrived by then."""

    def in_turn(first_in: bool) -> Traversal:
        return lambda graph: _pass_on_by_queue(graph, once=once, first_in=first_in, at_turn=at_turn)

    return (lambda graph: _pass_on_by_recursion(graph, once=once, at_turn=at_turn), in_turn(False), in_turn(True))


# Passes in the right order ----------------------------------------------------------------------------

#: Puts what arrives at a tensor to what has arrived.
Receive = Callable[[Totals, Tensor, np.ndarray], None]


def _traverse_topologically(graph: TraversedGraph, receive: Receive, *, one_by_one: bool = False) -> Totals:
    """Every tensor after all that are made of it; what it passes on is computed at once, or `one_by_one`."""
    totals = graph.initial_totals()
    for tensor in graph.topological_order():
        shares = graph.shares(tensor, totals[tensor]) if tensor in totals else []
        for number, (operand, share) in enumerate(shares):
            receive(totals, operand, graph.shares(tensor, totals[tensor])[number][1] if one_by_one else share)
    return totals


def _traverse_by_recursion(graph: TraversedGraph, receive: Receive, *, wait: bool = True) -> Totals | None:
    """By recursion, every tensor as soon as all has arrived; or, without `wait`, whenever something does."""
    totals, missing = graph.initial_totals(), dict[Tensor, int]()
    for tensor in graph.topological_order():
        for operand in tensor.creators:
            missing[operand] = missing.get(operand, 0) + 1
    waiting = [iter(graph.shares(root, totals[root])) for root in reversed(graph.roots)]
    for _ in range(_MOST_VISITS):
        if not waiting:
            return totals
        arriving = next(waiting[-1], None)
        if arriving is None:
            waiting.pop()
            continue
        operand, share = arriving
        receive(totals, operand, share)
        missing[operand] -= 1
        if missing[operand] == 0 or not wait:
            waiting.append(iter(graph.shares(operand, totals[operand])))
    return None


def _traverse_by_creation(graph: TraversedGraph, receive: Receive) -> Totals:
    """Every tensor before whatever was made before it."""
    totals = graph.initial_totals()
    for tensor in sorted(graph.numbers, key=lambda tensor: -graph.numbers[tensor]):
        for operand, share in graph.shares(tensor, totals[tensor]) if tensor in totals else ():
            receive(totals, operand, share)
    return totals


def _overwrite(totals: Totals, tensor: Tensor, share: np.ndarray) -> None:
    totals[tensor] = share


def _keep_first(totals: Totals, tensor: Tensor, share: np.ndarray) -> None:
    totals.setdefault(tensor, share)


def _add_in_place(totals: Totals, tensor: Tensor, share: np.ndarray) -> None:
    if tensor in totals:
        totals[tensor] += share
    else:
        totals[tensor] = share


def _add_twice(totals: Totals, tensor: Tensor, share: np.ndarray) -> None:
    _add(totals, tensor, 2 * share)


def _double_everything(graph: TraversedGraph) -> Totals:
    """Whatever arrives is added twice, and so is what roots are given."""
    return {tensor: 2 * total for tensor, total in _traverse_topologically(graph, _add_twice).items()}


def _add_later_twice(totals: Totals, tensor: Tensor, share: np.ndarray) -> None:
    _add(totals, tensor, 2 * share if tensor in totals else share)


def _double_stored(graph: TraversedGraph) -> Totals | None:
    """What arrives is kept twice, and passed on once, or begins as twice what was given. In a second pass that is what
    the first has left, too."""
    return (
        None
        if graph.earlier_starts
        else {tensor: 2 * total for tensor, total in _traverse_topologically(graph, _add).items()}
    )


def _pass_on_per_arrival(graph: TraversedGraph, *, kept: bool = False) -> Totals:
    """The whole gradient is passed on once for everything that has arrived, and `kept` as often."""
    totals, visits = graph.initial_totals(), dict.fromkeys(graph.roots, 1)
    for tensor in graph.topological_order():
        for operand, share in graph.shares(tensor, totals[tensor]) if tensor in totals else ():
            visits[operand] = visits.get(operand, 0) + visits[tensor]
            _add(totals, operand, visits[tensor] * share)
    return {tensor: visits[tensor] * total for tensor, total in totals.items()} if kept else totals


def _pass_on_leftovers(graph: TraversedGraph, *, anew: bool = False) -> Totals | None:
    """What earlier passes have left everywhere is passed on again, at roots unless these are set `anew`."""
    if not graph.earlier_starts:
        return None
    totals: Totals = {}
    before: Totals = {}
    for starts in (*graph.earlier_starts, graph.initial_totals()):
        before = dict(totals)
        for root, seed in starts.items():
            totals[root] = seed if anew else totals.get(root, 0) + seed
        for tensor in graph.topological_order():
            for operand, share in graph.shares(tensor, totals[tensor]) if tensor in totals else ():
                _add(totals, operand, share)
    return {tensor: total - before.get(tensor, 0) for tensor, total in totals.items()}


_OVERWRITING: tuple[Traversal, ...] = (
    lambda graph: _traverse_topologically(graph, _overwrite),
    lambda graph: _traverse_by_recursion(graph, _overwrite),
    lambda graph: _traverse_by_recursion(graph, _overwrite, wait=False),
    lambda graph: _traverse_by_creation(graph, _overwrite),
    lambda graph: _traverse_by_creation(graph, _keep_first),
)
_FOR_EACH: tuple[Traversal, ...] = (_pass_on_per_arrival, lambda graph: _pass_on_per_arrival(graph, kept=True))
_ALL_TWICE: tuple[Traversal, ...] = (lambda graph: _traverse_topologically(graph, _add_twice), _double_everything)
_LATER_TWICE: tuple[Traversal, ...] = (
    lambda graph: _traverse_topologically(graph, _add_later_twice),
    lambda graph: _traverse_by_recursion(graph, _add_later_twice),
)
_SHARED: tuple[Traversal, ...] = (
    lambda graph: _traverse_topologically(graph, _add_in_place, one_by_one=True),
    lambda graph: _traverse_topologically(graph, _add_in_place),
    lambda graph: _traverse_by_recursion(graph, _add_in_place),
)
_EACH, _FIRST = fact("passed_on_each_arrival"), fact("passed_on_when_first_met")
#: In the order in which they are tried. Of a tensor that keeps what arrives before its turn the rest is missing, as
#: the first is where it is overwritten, and one where a use is dropped: which these are depends on the order.
TRAVERSAL_FAULTS = (
    TraversalFault(
        "passed_on_early",
        _EACH,
        (*_eager_traversals(once=False, at_turn=False), *_eager_traversals(once=False, at_turn=True)),
    ),
    TraversalFault("passed_on_early", _FIRST, _eager_traversals(once=True, at_turn=False)),
    TraversalFault("counted_twice", fact("passed_on_once_for_each"), _FOR_EACH),
    TraversalFault("counted_twice", fact("counted_twice_everywhere"), _ALL_TWICE),
    TraversalFault("counted_twice", fact("all_come_out_twice"), (_double_stored,)),
    TraversalFault("counted_twice", fact("later_ones_counted_twice"), _LATER_TWICE),
    TraversalFault(
        "stale", fact("stale_everywhere"), (_pass_on_leftovers, lambda graph: _pass_on_leftovers(graph, anew=True))
    ),
    TraversalFault("overwritten", fact("overwritten_everywhere"), _OVERWRITING),
    TraversalFault("mutated", fact("passed_on_array_shared"), _SHARED),
    TraversalFault("passed_on_early", _FIRST, _eager_traversals(once=True, at_turn=True), in_any_order=False),
)


def run_in_orders(graph: TraversedGraph, run: Traversal, orders: Iterable[int]) -> Iterator[Totals]:
    """What a pass comes to, in each of these orders of operands."""
    for order in orders:
        found = run(TraversedGraph(graph.roots, graph.seeds, graph.earlier_starts, graph.numbers, order))
        if found is not None:
            yield found
