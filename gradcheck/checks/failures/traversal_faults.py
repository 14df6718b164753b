"""Wrong ways through a graph, run on the core's graph by the core's rules.

Nothing here knows engines. The order of an op's operands is no property of a wrong way: a class that keeps operands
in a set takes them in another order for every op and every run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from gradcheck.autograd.pullback import pull_arrays
from gradcheck.autograd.tensor import Tensor
from gradcheck.facts import Fact, fact

Totals = dict[Tensor, np.ndarray]
Shares = list[tuple[Tensor, np.ndarray]]
#: The most visits of one pass: a pass on each arrival makes 2^n of them.
_MOST_VISITS = 2_000
#: The most ops of a graph for which every order of operands is tried.
_MOST_ORDERED = 5
#: The ops whose operands are taken from the last to the first, as bits.
AS_WRITTEN, REVERSED = 0, -1


@dataclass(frozen=True, slots=True)
class TraversedGraph:
    """The starts of a pass and of earlier ones over a graph, and its ops."""

    roots: Sequence[Tensor]
    seeds: Sequence[np.ndarray]
    earlier_starts: Sequence[Totals]
    numbers: Mapping[Tensor, int]
    reversed_ops: int = AS_WRITTEN
    #: What passes have computed, by the pass and `reversed_ops`.
    known: dict[tuple[Traversal, int], Totals | None] = field(default_factory=dict, compare=False, repr=False)

    def shares_of(self, tensor: Tensor, totals: Totals) -> Shares:
        """Return what a tensor passes on; the same array for the same numbers."""
        if tensor.creation_op is None or tensor not in totals:
            return []
        gradient = totals[tensor]
        found = [(operand, _shared(share, gradient)) for operand, share in pull_arrays(tensor, np.asarray(gradient))]
        return found[::-1] if self._is_reversed(tensor) else found

    def _is_reversed(self, tensor: Tensor) -> bool:
        return bool(self.reversed_ops >> self.numbers.get(tensor, 0) & 1)

    def initial_totals(self) -> Totals:
        return {root: np.array(seed) for root, seed in zip(self.roots, self.seeds, strict=True)}

    def operand_orders(self) -> Iterator[int]:
        """Yield every order of the operands; of many ops the two alike for all."""
        many = len(self.numbers) > _MOST_ORDERED
        yield from (AS_WRITTEN, REVERSED) if many else range(2 ** len(self.numbers))

    def topological_order(self) -> list[Tensor]:
        found: list[Tensor] = []
        seen: set[Tensor] = set()
        stack = [(root, False) for root in self.roots]
        while stack:
            tensor, done = stack.pop()
            if done:
                found.append(tensor)
            elif tensor not in seen:
                seen.add(tensor)
                operands = tensor.creators if self._is_reversed(tensor) else tensor.creators[::-1]
                stack += [(tensor, True), *((operand, False) for operand in operands)]
        return found[::-1]


def _shared(share: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    return gradient if share.shape == gradient.shape and np.array_equal(share, gradient) else np.array(share)


#: Computes every tensor's gradient; None if a pass takes too long, or is impossible.
Traversal = Callable[[TraversedGraph], Totals | None]


class TraversalFault(NamedTuple):
    """A kind of mistake, its message, and the passes that make it.

    A fault that equals another in some order of operands is recognised only in one order for all (`in_any_order`).
    """

    kind: str
    message: Fact
    traversals: tuple[Traversal, ...]
    in_any_order: bool = True


def _recurse(start: Iterable[Shares], arrive: Callable[[Tensor, np.ndarray], Shares]) -> bool:
    """Visit shares depth first; `arrive` returns the next. Return if it ends."""
    waiting = [iter(shares) for shares in start]
    for _ in range(_MOST_VISITS):
        if not waiting:
            return True
        arriving = next(waiting[-1], None)
        if arriving is None:
            waiting.pop()
        else:
            waiting.append(iter(arrive(*arriving)))
    return False


# Receiving ---------------------------------------------------------------------------------------------

#: Puts an arriving share to a tensor's total.
Receive = Callable[[Totals, Tensor, np.ndarray], None]


def _add(totals: Totals, tensor: Tensor, share: np.ndarray) -> None:
    totals[tensor] = totals[tensor] + share if tensor in totals else share


def _add_in_place(totals: Totals, tensor: Tensor, share: np.ndarray) -> None:
    if tensor in totals:
        totals[tensor] += share
    else:
        totals[tensor] = share


def _add_twice(totals: Totals, tensor: Tensor, share: np.ndarray) -> None:
    _add(totals, tensor, 2 * share)


def _add_later_twice(totals: Totals, tensor: Tensor, share: np.ndarray) -> None:
    _add(totals, tensor, 2 * share if tensor in totals else share)


def _overwrite(totals: Totals, tensor: Tensor, share: np.ndarray) -> None:
    totals[tensor] = share


def _keep_first(totals: Totals, tensor: Tensor, share: np.ndarray) -> None:
    totals.setdefault(tensor, share)


# Passes in a wrong order ------------------------------------------------------------------------------


class _EagerTraversal:
    """A pass in which tensors pass on what they have so far.

    They do on each arrival or `once`. A gradient is all that arrives or, `at_turn`, the sum of what it was at each
    turn.
    """

    def __init__(self, graph: TraversedGraph, *, once: bool, at_turn: bool) -> None:
        self.totals, self.kept, self.seen = graph.initial_totals(), Totals(), set[Tensor]()
        self.graph, self.once, self.at_turn = graph, once, at_turn

    def visit(self, tensor: Tensor) -> Shares:
        if self.once and tensor in self.seen:
            return []
        self.seen.add(tensor)
        _add(self.kept, tensor, self.totals[tensor])
        return self.graph.shares_of(tensor, self.totals)

    def arrive(self, operand: Tensor, share: np.ndarray) -> Shares:
        _add(self.totals, operand, share)
        return self.visit(operand)

    def by_queue(self, first_in: bool) -> Totals | None:
        """Take turns in the order of arrival, or in the opposite one."""
        waiting = deque(self.graph.roots)
        for _ in range(_MOST_VISITS):
            if not waiting:
                return self.found
            shares = self.visit(waiting.popleft() if first_in else waiting.pop())
            for operand, share in shares:
                _add(self.totals, operand, share)
            waiting.extend(operand for operand, _ in (shares if first_in else shares[::-1]))
        return None

    def by_recursion(self) -> Totals | None:
        """Pass on as soon as something arrives."""
        start = [self.visit(root) for root in reversed(self.graph.roots)]
        return self.found if _recurse(start, self.arrive) else None

    @property
    def found(self) -> Totals:
        return self.kept if self.at_turn else self.totals


def _pass_on(graph: TraversedGraph, way: str, *, once: bool, at_turn: bool) -> Totals | None:
    eager = _EagerTraversal(graph, once=once, at_turn=at_turn)
    return eager.by_recursion() if way == "recursion" else eager.by_queue(way == "first in")


def _eager_traversals(*, once: bool, at_turn: bool) -> tuple[Traversal, ...]:
    ways = ("recursion", "last in", "first in")
    return tuple(partial(_pass_on, way=way, once=once, at_turn=at_turn) for way in ways)


# Passes in the right order ----------------------------------------------------------------------------


def _topologically(graph: TraversedGraph, receive: Receive, *, one_by_one: bool = False) -> Totals:
    """Take tensors after all their uses; `one_by_one` computes shares anew."""
    totals = graph.initial_totals()
    for tensor in graph.topological_order():
        for number, (operand, share) in enumerate(graph.shares_of(tensor, totals)):
            receive(totals, operand, graph.shares_of(tensor, totals)[number][1] if one_by_one else share)
    return totals


def _from_leaves(graph: TraversedGraph) -> Totals:
    """Take tensors before their uses: only roots have something to pass on."""
    totals = graph.initial_totals()
    for tensor in reversed(graph.topological_order()):
        for operand, share in graph.shares_of(tensor, totals):
            _add(totals, operand, share)
    return totals


def _by_recursion(graph: TraversedGraph, receive: Receive, *, wait: bool = True) -> Totals | None:
    """Take a tensor once all has arrived or, without `wait`, on each arrival."""
    totals, missing = graph.initial_totals(), dict[Tensor, int]()
    for tensor in graph.topological_order():
        for operand in tensor.creators:
            missing[operand] = missing.get(operand, 0) + 1

    def arrive(operand: Tensor, share: np.ndarray) -> Shares:
        receive(totals, operand, share)
        missing[operand] -= 1
        return [] if wait and missing[operand] else graph.shares_of(operand, totals)

    start = [graph.shares_of(root, totals) for root in reversed(graph.roots)]
    return totals if _recurse(start, arrive) else None


def _by_creation(graph: TraversedGraph, receive: Receive) -> Totals:
    totals = graph.initial_totals()
    for tensor in sorted(graph.numbers, key=lambda tensor: -graph.numbers[tensor]):
        for operand, share in graph.shares_of(tensor, totals):
            receive(totals, operand, share)
    return totals


def _double_everything(graph: TraversedGraph) -> Totals:
    """Add every share twice, and the roots' incoming gradients too."""
    return {tensor: 2 * total for tensor, total in _topologically(graph, _add_twice).items()}


def _double_stored(graph: TraversedGraph) -> Totals | None:
    """Store gradients twice, pass them on once; impossible in a second pass."""
    if graph.earlier_starts:
        return None
    return {tensor: 2 * total for tensor, total in _topologically(graph, _add).items()}


def _pass_on_per_arrival(graph: TraversedGraph, *, kept: bool = False) -> Totals:
    """Pass the whole gradient on once for each arrival; `kept`: store it so."""
    totals, visits = graph.initial_totals(), dict.fromkeys(graph.roots, 1)
    for tensor in graph.topological_order():
        for operand, share in graph.shares_of(tensor, totals):
            visits[operand] = visits.get(operand, 0) + visits[tensor]
            _add(totals, operand, visits[tensor] * share)
    return {tensor: visits[tensor] * total for tensor, total in totals.items()} if kept else totals


def _pass_on_leftovers(graph: TraversedGraph, *, anew: bool = False) -> Totals | None:
    """Pass on again what earlier passes left; `anew` roots start afresh."""
    if not graph.earlier_starts:
        return None
    totals: Totals = {}
    before: Totals = {}
    for starts in (*graph.earlier_starts, graph.initial_totals()):
        before = dict(totals)
        for root, seed in starts.items():
            totals[root] = seed if anew else totals.get(root, 0) + seed
        for tensor in graph.topological_order():
            for operand, share in graph.shares_of(tensor, totals):
                _add(totals, operand, share)
    return {tensor: total - before.get(tensor, 0) for tensor, total in totals.items()}


def _path_by_path(graph: TraversedGraph, way: str) -> Totals | None:
    """Pass each share on along each path; tensors keep the last one."""
    totals = Totals()
    waiting = deque(graph.initial_totals().items())
    for _ in range(_MOST_VISITS):
        if not waiting:
            return totals
        tensor, share = waiting.popleft() if way == "first in" else waiting.pop()
        totals[tensor] = share
        shares = graph.shares_of(tensor, {tensor: share})
        waiting.extend(shares[::-1] if way == "recursion" else shares)
    return None


_BY_PATH = tuple(partial(_path_by_path, way=way) for way in ("recursion", "last in", "first in"))
_OVERWRITING = (
    partial(_topologically, receive=_overwrite),
    partial(_by_recursion, receive=_overwrite),
    partial(_by_recursion, receive=_overwrite, wait=False),
    partial(_by_creation, receive=_overwrite),
    partial(_by_creation, receive=_keep_first),
)
_FOR_EACH = (_pass_on_per_arrival, partial(_pass_on_per_arrival, kept=True))
_LEFTOVERS = (_pass_on_leftovers, partial(_pass_on_leftovers, anew=True))
_ALL_TWICE = (partial(_topologically, receive=_add_twice), _double_everything)
_LATER_TWICE = tuple(partial(traverse, receive=_add_later_twice) for traverse in (_topologically, _by_recursion))
_SHARED = (
    partial(_topologically, receive=_add_in_place, one_by_one=True),
    partial(_topologically, receive=_add_in_place),
    partial(_by_recursion, receive=_add_in_place),
)
_ON_EACH = (*_eager_traversals(once=False, at_turn=False), *_eager_traversals(once=False, at_turn=True))
_EACH, _FIRST = fact("passed_on_each_arrival"), fact("passed_on_when_first_met")
#: In the order in which they are tried. A tensor that keeps only what arrives before its turn lacks the rest, as one
#: that is overwritten lacks the first and one whose use is dropped lacks that: the order decides which these are.
TRAVERSAL_FAULTS = (
    TraversalFault("passed_on_early", fact("goes_from_leaves"), (_from_leaves,)),
    TraversalFault("passed_on_early", _EACH, _ON_EACH),
    TraversalFault("overwritten", fact("overwritten_everywhere"), _BY_PATH),
    TraversalFault("passed_on_early", _FIRST, _eager_traversals(once=True, at_turn=False)),
    TraversalFault("counted_twice", fact("passed_on_once_for_each"), _FOR_EACH),
    TraversalFault("counted_twice", fact("counted_twice_everywhere"), _ALL_TWICE),
    TraversalFault("counted_twice", fact("all_come_out_twice"), (_double_stored,)),
    TraversalFault("counted_twice", fact("later_ones_counted_twice"), _LATER_TWICE),
    TraversalFault("stale", fact("stale_everywhere"), _LEFTOVERS),
    TraversalFault("overwritten", fact("overwritten_everywhere"), _OVERWRITING),
    TraversalFault("mutated", fact("passed_on_array_shared"), _SHARED),
    TraversalFault("passed_on_early", _FIRST, _eager_traversals(once=True, at_turn=True), in_any_order=False),
)


def run_in_orders(graph: TraversedGraph, run: Traversal, orders: Iterable[int]) -> Iterator[Totals]:
    """Yield what a pass computes in each order of the operands, once a graph."""
    for order in orders:
        if (run, order) not in graph.known:
            graph.known[run, order] = run(replace(graph, reversed_ops=order))
        totals = graph.known[run, order]
        if totals is not None:
            yield totals
