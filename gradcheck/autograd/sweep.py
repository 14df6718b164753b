"""The reverse sweep: a node passes on its gradient once it is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gradcheck.autograd.node import N
from gradcheck.autograd.pullback import Share
from gradcheck.errors import BackwardTwice

#: `pull(node, gradient)` returns a share for each use of a creator that requires a gradient.
Pull = Callable[[Any, Any], Iterable[Share]]


def sweep(
    roots: Sequence[N], seeds: Sequence[Any], pull: Pull, *, keep: frozenset[N] = frozenset(), release: bool = False
) -> dict[N, Any]:
    """Return the gradients of leaves, retaining nodes and those in `keep`.

    `seeds` are the incoming gradients of the roots; `release` frees what the graph saved for its rules. Linear in nodes
    and uses, and iterative: no graph is too deep. Raises BackwardTwice.
    """
    waiting = count_pending(roots)
    sums: dict[N, Any] = {}
    for root, seed in zip(roots, seeds, strict=True):
        sums[root] = sums[root] + seed if root in sums else seed
    ready = [root for root in dict.fromkeys(roots) if not waiting[root]]
    found: dict[N, Any] = {}
    while ready:
        node = ready.pop()
        gradient = sums.pop(node)
        if node.is_leaf or node.retains_grad or node in keep:
            found[node] = gradient
        if node.is_leaf:
            continue
        for creator, share in pull(node, gradient):
            sums[creator] = sums[creator] + share if creator in sums else share
            waiting[creator] -= 1
            if not waiting[creator]:
                ready.append(creator)
        if release:
            node.freed = True
    return found


def count_pending(roots: Sequence[N]) -> dict[N, int]:
    """Return how many contributions each node below `roots` will receive.

    A node used k times by one child receives k. Raises BackwardTwice if an earlier pass has freed a node.
    """
    waiting = dict.fromkeys(roots, 0)
    stack = list(waiting)
    while stack:
        node = stack.pop()
        if node.freed:
            raise backward_twice()
        for creator in node.creators:
            if creator.requires_grad:
                if creator not in waiting:
                    waiting[creator] = 0
                    stack.append(creator)
                waiting[creator] += 1
    return waiting


def backward_twice() -> BackwardTwice:
    """Return the error of a second pass through a freed node."""
    return BackwardTwice(
        "a second backward pass through a graph whose saved values are freed",
        hint="pass retain_graph=True to the first",
    )
