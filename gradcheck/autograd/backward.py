"""`backward` and `grad`: sweep, then accumulate or return the gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcheck.autograd import accelerator
from gradcheck.autograd.modes import no_grad, quiet
from gradcheck.autograd.node import N, Node
from gradcheck.autograd.pullback import pull_arrays, pull_nodes
from gradcheck.autograd.sweep import Pull, sweep
from gradcheck.errors import DtypeMismatch, NoGradRequired, NonScalarBackward, ShapeMismatch

#: `watch(roots, seeds, pull)` returns a `pull` that also observes the shares.
Watch = Callable[[Sequence[Any], Sequence[Any], Pull], Pull]


def backward(
    roots: Sequence[N],
    gradients: Sequence[Any],
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
    watch: Watch | None = None,
) -> None:
    """Accumulate the gradients of all `roots` into `grad`, in one sweep.

    Args: `gradients` are the incoming ones, a tensor or an array of each root's shape, or None for 1 at a real root of
    one element. `retain_graph` or `create_graph` keeps saved values; `create_graph` makes gradients differentiable.
    `watch` observes a pass without `create_graph`. Raises NonScalarBackward, NoGradRequired, BackwardTwice,
    ShapeMismatch.
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
    """Return the gradients of `outputs` with respect to `inputs`; else None.

    No `grad` changes. `grad_outputs` is the incoming gradient, or a list of one for each output, as in `backward`,
    which also lists the errors.
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
    seeds = [_seed_of(root, gradient) for root, gradient in zip(roots, gradients, strict=True)]
    if create_graph:
        with quiet():
            return sweep(roots, list(map(_as_node, roots, seeds)), pull_nodes, keep=keep)
    starts = [seed.data if isinstance(seed, Node) else seed for seed in seeds]
    with no_grad(), quiet():
        if watch is None:
            found = accelerator.sweep_arrays(roots, starts, keep=keep, release=not retain_graph)
        else:
            found = sweep(roots, starts, watch(roots, starts, pull_arrays), keep=keep, release=not retain_graph)
    return _wrap_gradients(found, starts)


def _seed_of(root: N, gradient: Any) -> Any:
    """Return the incoming gradient in the root's shape and dtype."""
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


def _wrap_gradients(found: dict[N, np.ndarray], seeds: Sequence[np.ndarray]) -> dict[N, N]:
    """Wrap gradients; copy arrays that are shared, views or read-only."""
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
