"""The reverse sweep over compiled nodes, by plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.autograd.compiled.buffer_release import reference_count
from gradcheck.autograd.compiled.plans import pull_node
from gradcheck.autograd.node import N
from gradcheck.autograd.sweep import backward_twice


def sweep_compiled(
    roots: Sequence[N], seeds: Sequence[np.ndarray], *, keep: frozenset[N] = frozenset(), release: bool = False
) -> dict[N, np.ndarray]:
    """Return what the core's `sweep` returns; add in place where possible."""
    waiting = count_pending(roots)
    sums: dict[Any, Any] = {}
    for root, seed in zip(roots, seeds, strict=True):
        sums[root] = sums[root] + seed if root in sums else seed
        waiting[root] = -abs(waiting[root])
    ready: list[Any] = [(root, sums.pop(root)) for root in dict.fromkeys(roots) if not waiting[root]]
    found: dict[Any, Any] = {}
    while ready:
        node, gradient = ready.pop()
        while node is not None:
            if node.creation_op is None:
                found[node] = gradient
                break
            if node.retains_grad or (keep and node in keep):
                found[node] = gradient
            plan = node.plan
            if plan is None:
                shares: Any = pull_node(node, gradient)
            elif plan.only is None:
                shares = plan.pull(node, gradient)
            else:  # a share alone
                gradient = plan.pull(node, gradient)
                if release:
                    node.freed = True
                node = node.arguments[plan.only]
                if waiting[node] != 1:
                    gradient = _add_share(node, gradient, waiting, sums)
                    if gradient is None:
                        break
                continue
            if release:
                node.freed = True
            node = None
            for creator, share in shares:
                if waiting[creator] != 1:
                    share = _add_share(creator, share, waiting, sums)
                    if share is None:
                        continue
                if node is not None:
                    ready.append((node, gradient))
                node, gradient = creator, share
            shares = share = None  # else they would count as references
    return found


def _add_share(node: Any, share: Any, waiting: dict[Any, int], sums: dict[Any, Any]) -> Any:
    """Add a contribution; return the sum if it was the last, else None.

    `waiting` counts the missing ones, and is negative once there is a sum.
    """
    left = waiting[node]
    if left > 1:
        sums[node] = share
        waiting[node] = 1 - left
        return None
    total = sums[node]
    if type(total) is np.ndarray and total.base is None and reference_count(total) == _ONLY_IN_SUMS:
        total += share
    else:
        sums[node] = total + share
    waiting[node] = left + 1
    return sums.pop(node) if left == -1 else None


def _count_in_sums() -> int:
    sums: dict[int, Any] = {0: np.zeros(1)}
    total = sums[0]
    return max(reference_count(total), 0)


#: The count for an array that only the sums of a sweep hold; versions of Python differ in it.
_ONLY_IN_SUMS = _count_in_sums()


def count_pending(roots: Sequence[Any]) -> dict[Any, int]:
    """Count the contributions to each node, as the core's `count_pending`.

    A node drops its plan if other tensors require a gradient now than when it was made.
    """
    waiting: dict[Any, int] = dict.fromkeys(roots, 0)
    stack = list(waiting)
    while stack:
        node = stack.pop()
        if node.freed:
            raise backward_twice()
        plan = node.plan
        if plan is not None:
            tensors = node.arguments if plan.sequence is None else node.arguments[plan.sequence]
            for place in plan.unwanted:
                if tensors[place].requires_grad:
                    node.plan = plan = None
                    break
        if plan is None:
            tensors = [creator for creator in node.creators if creator.requires_grad]
        for place in range(len(tensors)) if plan is None else plan.wanted:
            creator = tensors[place]
            if not creator.requires_grad:
                node.plan = None
            elif creator in waiting:
                waiting[creator] += 1
            else:
                waiting[creator] = 1
                if creator.creation_op is not None:
                    stack.append(creator)
    return waiting
