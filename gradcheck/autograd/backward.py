"""The reverse sweep: every tensor waits until all its children have reported, then passes its gradient on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import no_grad, quiet
from gradcheck.autograd.op import Op
from gradcheck.autograd.pullback import cast, cotangents, in_single
from gradcheck.autograd.tensor import NUMBERS, PLAIN, Tensor, constant, plain, wrap
from gradcheck.errors import BackwardTwice, NoGradRequired, NonScalarBackward, ShapeMismatch

#: `pull(tensor, gradient)` gives what each creator that requires a gradient receives, one entry for each use.
Pull = Callable[[Tensor, Any], Iterable[tuple[Tensor, Any]]]
#: `watch(roots, seeds, pull)` gives the `pull` to sweep with instead: one that observes what passes through it.
Watch = Callable[[Sequence[Tensor], Sequence[Any], Pull], Pull]


def backward(
    roots: Sequence[Tensor],
    gradients: Sequence[Any],
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
    watch: Watch | None = None,
) -> None:
    """Accumulate into `grad` what flows from all `roots` at once, in one sweep. Observed where no graph is created."""
    found = _gradients(roots, gradients, frozenset(), retain_graph=retain_graph, create_graph=create_graph, watch=watch)
    for tensor, gradient in found.items():
        if tensor.grad is None:
            tensor.grad = gradient
        else:
            tensor.grad = tensor.grad + gradient if create_graph else wrap(tensor.grad.data + gradient.data)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs` with respect to `inputs`, leaving every `grad` as it was; None where none flows."""
    roots = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    seeds = list(grad_outputs) if isinstance(grad_outputs, (list, tuple)) else [grad_outputs] * len(roots)
    found = _gradients(roots, seeds, frozenset(wanted), retain_graph=retain_graph, create_graph=create_graph)
    return tuple(found.get(tensor) for tensor in wanted)


def sweep(
    roots: Sequence[Tensor],
    seeds: Sequence[Any],
    pull: Pull,
    *,
    keep: frozenset[Tensor] = frozenset(),
    release: bool = False,
) -> dict[Tensor, Any]:
    """The gradients of leaves, of tensors that retain theirs, and of those in `keep`.

    Linear in tensors and uses, and iterative: no graph is too deep. A tensor used k times by one child receives k
    contributions. `release` frees on the way what the graph saved for its rules.
    """
    pending = count_pending(roots)
    sums: dict[Tensor, Any] = {}
    owned: set[Tensor] = set()  # whose sum is an array that the sweep made, free to be added to in place
    for root, seed in zip(roots, seeds, strict=True):
        sums[root] = sums[root] + seed if root in sums else seed
    ready = [(root, sums.pop(root)) for root in dict.fromkeys(roots) if not pending[root]]
    found: dict[Tensor, Any] = {}
    while ready:
        tensor, gradient = ready.pop()
        if tensor.creation_op is None:
            found[tensor] = gradient
            continue
        if tensor._retains_grad or (keep and tensor in keep):
            found[tensor] = gradient
        shares = pull(tensor, gradient)
        if release:
            tensor._freed = True
        for creator, share in shares:
            known = sums.get(creator)
            if known is not None:
                share = _add(creator, known, share, owned)
            if pending[creator] > 1:
                pending[creator] -= 1
                sums[creator] = share
            else:
                ready.append((creator, share))
    return found


def _add(creator: Tensor, known: Any, share: Any, owned: set[Tensor]) -> Any:
    if creator in owned:
        known += share
        return known
    total = known + share
    if type(total) is np.ndarray:
        owned.add(creator)
    return total


def count_pending(roots: Sequence[Tensor]) -> dict[Tensor, int]:
    """For every tensor below `roots` that requires a gradient, how many contributions it will receive."""
    pending = dict.fromkeys(roots, 0)
    stack = list(pending)
    while stack:
        tensor = stack.pop()
        if tensor._freed:
            raise BackwardTwice(
                "a second backward pass through a graph whose saved values are freed",
                hint="pass retain_graph=True to the first",
            )
        others = tensor._others
        for creator in tensor.creators if type(others) is tuple else (tensor._first, others):
            if type(creator) not in NUMBERS and creator.requires_grad:
                count = pending.get(creator)
                if count is None:
                    pending[creator] = 1
                    stack.append(creator)
                else:
                    pending[creator] = count + 1
    return pending


def _gradients(
    roots: Sequence[Tensor],
    gradients: Sequence[Any],
    keep: frozenset[Tensor],
    *,
    retain_graph: bool,
    create_graph: bool,
    watch: Watch | None = None,
) -> dict[Tensor, Tensor]:
    seeds = [_seed(root, gradient) for root, gradient in zip(roots, gradients, strict=True)]
    if create_graph:
        with quiet():
            return sweep(roots, seeds, _pull_tensors, keep=keep)
    with no_grad(), quiet():
        starts = [seed.data for seed in seeds]
        pull = watch(roots, starts, _pull_arrays) if watch else _pull_arrays
        found = sweep(roots, starts, pull, keep=keep, release=not retain_graph)
    return {tensor: wrap(array) for tensor, array in _unshared(found)}


def _unshared(found: dict[Tensor, np.ndarray]) -> Iterable[tuple[Tensor, np.ndarray]]:
    """Each gradient as an array of its own: rules may hand on the cotangent itself, or a view of it."""
    seen: set[int] = set()
    for tensor, array in found.items():
        if type(array) is not np.ndarray:  # NumPy makes scalars of 0-d results
            array = np.asarray(array)
        elif id(array) in seen or array.base is not None or not array.flags.writeable:
            array = array.copy()
        seen.add(id(array))
        yield tensor, array


def _seed(root: Tensor, gradient: Any) -> Tensor:
    if not root.requires_grad:
        raise NoGradRequired("a backward pass from a tensor that requires no gradient")
    if gradient is None:
        if root.data.size != 1 or root.dtype.kind == "c":
            number = "complex number" if root.data.size == 1 else f"tensor of shape {root.shape}"
            raise NonScalarBackward(
                f"a backward pass without a gradient from a {number}",
                hint="only a real tensor of one element has an obvious gradient, 1; pass one",
            )
        return wrap(np.ones_like(root.data))
    tensor = gradient if isinstance(gradient, Tensor) else wrap(np.asarray(gradient, dtype=root.dtype))
    if tensor.shape != root.shape:
        raise ShapeMismatch(f"the incoming gradient has shape {tensor.shape}, its tensor {root.shape}")
    return tensor if tensor is gradient and tensor.requires_grad else wrap(tensor.data.astype(root.dtype))


def pull(tensor: Tensor, gradient: np.ndarray) -> list[tuple[Tensor, np.ndarray]]:
    """One op's rules alone: what each use of an argument that requires a gradient receives from a result's."""
    return list(_pull_arrays(tensor, gradient))


def _pull_arrays(tensor: Tensor, gradient: np.ndarray) -> Iterable[tuple[Tensor, np.ndarray]]:
    """What fills long graphs, two operands of one dtype that were not broadcast, takes a short way."""
    op, a, b = tensor.creation_op, tensor._first, tensor._others
    if op is None or op.ufunc is None or gradient.dtype not in PLAIN or type(b) is tuple:
        return _pull_any_arrays(tensor, gradient)
    left = a.data if type(a) is Tensor else constant(a, gradient.dtype)
    right = b.data if type(b) is Tensor else constant(b, gradient.dtype)
    shares = []
    if type(a) is Tensor and a.requires_grad:
        share = op.rules[0](gradient, tensor.data, left, right)  # type: ignore[misc]
        if share.shape != left.shape or share.dtype is not left.dtype:
            return _pull_any_arrays(tensor, gradient)
        shares.append((a, share))
    if type(b) is Tensor and b.requires_grad:
        share = op.rules[1](gradient, tensor.data, left, right)  # type: ignore[misc]
        if share.shape != right.shape or share.dtype is not right.dtype:
            return _pull_any_arrays(tensor, gradient)
        shares.append((b, share))
    return shares


def _pull_any_arrays(tensor: Tensor, gradient: np.ndarray) -> Iterable[tuple[Tensor, np.ndarray]]:
    op, args = _node(tensor)
    values, output = plain(op, args), tensor.data
    if gradient.dtype in dtypes.HALVES or output.dtype in dtypes.HALVES:
        gradient, output = in_single(gradient), in_single(output)
        values = [in_single(value) for value in values]
        return [(c, cast(g, c.dtype)) for c, g in _spread(op, gradient, output, values, args)]
    return _spread(op, gradient, output, values, args)


def _node(tensor: Tensor) -> tuple[Op, tuple[Any, ...]]:
    op = tensor.creation_op
    if op is None:
        raise NoGradRequired("a leaf passes no gradient on")
    return op, tensor.arguments


def _pull_tensors(tensor: Tensor, gradient: Tensor) -> Iterable[tuple[Tensor, Any]]:
    op, args = _node(tensor)
    return _spread(op, gradient, tensor, list(args), args)


def _spread(op: Op, gradient: Any, output: Any, values: list[Any], args: tuple[Any, ...]) -> list[tuple[Tensor, Any]]:
    wanted = [
        position
        for position, arg in enumerate(args)
        if (type(arg) is Tensor and arg.requires_grad)
        or (position == op.sequence and any(type(a) is Tensor and a.requires_grad for a in arg))
    ]
    shares: list[tuple[Tensor, Any]] = []
    for position, share in zip(wanted, cotangents(op, gradient, output, values, wanted), strict=True):
        if position == op.sequence:
            pairs = zip(args[position], share, strict=True)
            shares += [(a, s) for a, s in pairs if type(a) is Tensor and a.requires_grad]
        else:
            shares.append((args[position], share))
    return shares
