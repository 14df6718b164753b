"""The reverse sweep: every node waits until all its children have reported, then passes its gradient on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from gradcheck.autograd.compiled.binary_fast_path import pull as pull_shortly
from gradcheck.autograd.compiled.buffer_release import references
from gradcheck.autograd.modes import no_grad, quiet
from gradcheck.autograd.node import N, Node, nodes
from gradcheck.autograd.pullback import Share, pull_nodes
from gradcheck.errors import BackwardTwice, DtypeMismatch, NoGradRequired, NonScalarBackward, ShapeMismatch

#: `pull(node, gradient)` gives what each creator that requires a gradient receives, one entry for each use.
Pull = Callable[[Any, Any], Iterable[Share]]
#: `watch(roots, seeds, pull)` gives the `pull` to sweep with instead: one that observes what passes through it.
Watch = Callable[[Sequence[Any], Sequence[Any], Pull], Pull]


def backward(
    roots: Sequence[N],
    gradients: Sequence[Any],
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
    watch: Watch | None = None,
) -> None:
    """Accumulate into `grad` what flows from all `roots` at once, in one sweep.

    `gradients` are the incoming ones, a tensor or an array of each root's shape, or None for 1 at a real root of one
    element. Saved values are freed unless `retain_graph` or `create_graph`; with that, gradients can be differentiated
    again. `watch` observes passes without it. Raises NonScalarBackward, NoGradRequired, BackwardTwice, ShapeMismatch.
    """
    found = _gradients(roots, gradients, retain_graph=retain_graph, create_graph=create_graph, watch=watch)
    for node, gradient in found.items():
        if node.grad is None:
            node.grad = gradient
        else:
            node.grad = node.grad + gradient if create_graph else node.wrap(node.grad.data + gradient.data)


def grad(
    outputs: N | Sequence[N],
    inputs: N | Sequence[N],
    grad_outputs: Any = None,
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> tuple[N | None, ...]:
    """The gradients of `outputs` with respect to `inputs`, leaving every `grad` as it was; None where none flows.

    `grad_outputs` is the incoming gradient, or a list of one for each output; what it may be and what is raised is as
    in `backward`.
    """
    roots = [outputs] if isinstance(outputs, Node) else list(outputs)
    wanted = [inputs] if isinstance(inputs, Node) else list(inputs)
    seeds = list(grad_outputs) if isinstance(grad_outputs, (list, tuple)) else [grad_outputs] * len(roots)
    found = _gradients(roots, seeds, frozenset(wanted), retain_graph=retain_graph, create_graph=create_graph)
    return tuple(found.get(node) for node in wanted)


def _gradients(
    roots: Sequence[N],
    gradients: Sequence[Any],
    keep: frozenset[N] = frozenset(),
    *,
    retain_graph: bool,
    create_graph: bool,
    watch: Watch | None = None,
) -> dict[N, N]:
    seeds = [_seed(root, gradient) for root, gradient in zip(roots, gradients, strict=True)]
    if create_graph:
        with quiet():
            return sweep(roots, list(map(_as_node, roots, seeds)), pull_nodes, keep=keep)
    starts = [seed.data if isinstance(seed, Node) else seed for seed in seeds]
    with no_grad(), quiet():
        pull_observed = pull_shortly if watch is None else watch(roots, starts, pull_shortly)
        found = sweep(roots, starts, pull_observed, keep=keep, release=not retain_graph)
    return _wrapped(found, starts)


def _seed(root: N, gradient: Any) -> Any:
    """The incoming gradient, a node or an array of the root's shape and dtype."""
    if not root.requires_grad:
        raise NoGradRequired("a backward pass from a tensor that requires no gradient")
    if gradient is None:
        if root.data.size != 1 or root.dtype.kind == "c":
            number = "complex number" if root.data.size == 1 else f"tensor of shape {root.shape}"
            raise NonScalarBackward(
                f"a backward pass without a gradient from a {number}",
                hint="only a real tensor of one element has an obvious gradient, 1; pass one",
            )
        return np.ones_like(root.data)
    given = gradient.data if isinstance(gradient, Node) else np.asarray(gradient)
    if given.shape != root.data.shape:
        raise ShapeMismatch(f"the incoming gradient has shape {list(given.shape)}, its tensor {list(root.shape)}")
    if given.dtype is root.data.dtype:
        return gradient if isinstance(gradient, Node) else given
    if given.dtype.kind == "c" and root.dtype.kind != "c":
        raise DtypeMismatch("the incoming gradient is complex, and its tensor is real", hint="take its .real")
    return gradient if isinstance(gradient, Node) and gradient.requires_grad else given.astype(root.dtype)


def _as_node(root: Node, seed: Any) -> Any:
    if isinstance(seed, Node):
        return seed if seed.requires_grad else root.wrap(seed.data.copy())
    return root.wrap(seed.copy())


def _wrapped(found: dict[N, np.ndarray], seeds: Sequence[np.ndarray]) -> dict[N, N]:
    """Each gradient as an array of its own: rules may hand on the cotangent itself, a seed too, or a view of it."""
    seen = set(map(id, seeds))
    gradients: dict[N, N] = {}
    for node, array in found.items():
        if type(array) is not np.ndarray:  # NumPy makes scalars of 0-d results
            array = np.asarray(array)
        elif id(array) in seen or array.base is not None or not array.flags.writeable:
            array = array.copy()
        seen.add(id(array))
        gradients[node] = node.wrap(array)
    return gradients


# The sweep -----------------------------------------------------------------------------------------


def sweep(
    roots: Sequence[N], seeds: Sequence[Any], pull: Pull, *, keep: frozenset[N] = frozenset(), release: bool = False
) -> dict[N, Any]:
    """The gradients of leaves, of nodes that retain theirs, and of those in `keep`.

    Linear in nodes and uses, and iterative: no graph is too deep. A node used k times by one child receives k
    contributions. `release` frees on the way what the graph saved for its rules. Raises BackwardTwice.
    """
    waiting = count_pending(roots)
    sums = _begun(roots, seeds, waiting)
    ready = [(root, sums.pop(root)) for root in dict.fromkeys(roots) if not waiting[root]]
    short = pull is pull_shortly
    found: dict[N, Any] = {}
    while ready:
        node: Any
        node, gradient = ready.pop()
        while node is not None:
            plan = node.plan
            if plan is None and node.creation_op is None:
                found[node] = gradient
                break
            if node.retains_grad or (keep and node in keep):
                found[node] = gradient
            one = None if plan is None or not short else plan.one
            if one is not None:
                gradient = one(node, gradient)
                if release:
                    node.freed = True
                node = node.first
                if waiting[node] != 1:
                    if not _added(node, gradient, waiting, sums):
                        break
                    gradient = sums.pop(node)
                continue
            shares = pull(node, gradient) if plan is None or not short else plan.pull(node, gradient)
            if release:
                node.freed = True
            node = None
            for creator, share in shares:
                if waiting[creator] != 1:
                    if not _added(creator, share, waiting, sums):
                        continue
                    share = sums.pop(creator)
                if node is not None:
                    ready.append((node, gradient))
                node, gradient = creator, share
            shares = share = None  # which would count as holders
    return found


def _of_one_holder() -> int:
    """What `references` counts of an array that a dictionary and a local name hold: versions of Python differ in
    whether handing it over counts."""
    sums: dict[int, Any] = {0: np.zeros(1)}
    total = sums[0]
    return max(references(total), 0)


_ALONE = _of_one_holder()


def _begun(roots: Sequence[Any], seeds: Sequence[Any], waiting: dict[Any, int]) -> dict[Any, Any]:
    """What has arrived at nodes that wait for more: at first the incoming gradients. `waiting` says of each node how
    many contributions are missing, and is negative once there is one."""
    sums: dict[Any, Any] = {}
    for root, seed in zip(roots, seeds, strict=True):
        sums[root] = sums[root] + seed if root in sums else seed
        waiting[root] = -abs(waiting[root])
    return sums


def _added(node: Any, share: Any, waiting: dict[Any, int], sums: dict[Any, Any]) -> bool:
    """One contribution more to a node that waits for several; whether it was the last. They are added up in place where
    nobody else holds the sum."""
    left = waiting[node]
    if left > 1:
        sums[node] = share
        waiting[node] = 1 - left
        return False
    total = sums[node]
    if type(total) is np.ndarray and total.base is None and references(total) == _ALONE:
        total += share
    else:
        sums[node] = total + share
    waiting[node] = left + 1
    return left == -1


def count_pending(roots: Sequence[N]) -> dict[N, int]:
    """For every node at or below `roots` that requires a gradient, how many contributions it will receive.

    Raises BackwardTwice where an earlier pass has freed one of them.
    """
    waiting: dict[Any, int] = dict.fromkeys(roots, 0)
    stack = list(waiting)
    while stack:
        node: Any = stack.pop()
        while node is not None:
            if node.freed:
                raise BackwardTwice(
                    "a second backward pass through a graph whose saved values are freed",
                    hint="pass retain_graph=True to the first",
                )
            plan, creator, other = node.plan, node.first, node.second
            if plan is None or type(creator) is tuple or type(other) is tuple:
                stack += _newly_awaited(_used(node), waiting)
                break
            if plan.wanted is None:  # both are, or one of them
                if other.requires_grad:
                    left = waiting.get(other)
                    waiting[other] = 1 if left is None else left + 1
                    if left is None and other.creation_op is not None:
                        stack.append(other)
                if not creator.requires_grad:
                    break
            elif not creator.requires_grad or (other is not None and other.requires_grad):
                stack += _newly_awaited(_used(node), waiting)
                break
            left = waiting.get(creator)
            waiting[creator] = 1 if left is None else left + 1
            if left is not None or creator.creation_op is None:
                break
            node = creator
    return waiting


def _newly_awaited(used: Iterable[Any], waiting: dict[Any, int]) -> list[Any]:
    """Count the contributions that go to these, one for each use; which were not awaited before and are no leaves."""
    found = []
    for creator in used:
        if creator.requires_grad:
            if creator in waiting:
                waiting[creator] += 1
            else:
                waiting[creator] = 1
                if creator.creation_op is not None:
                    found.append(creator)
    return found


def _used(node: Any) -> Any:
    """The nodes that a node was made of, one for each use, as its plan has them as long as that stands."""
    plan = node.plan
    if plan is None:
        return nodes(node.creation_op, node.first)
    if plan.wanted is None:
        return node.first if type(node.first) is tuple else (node.first, node.second)
    if plan.stands(node):
        return (node.first,)
    node.first, node.second, node.plan = plan.arguments(node), None, None
    return nodes(node.creation_op, node.first)
