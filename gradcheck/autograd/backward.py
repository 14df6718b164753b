"""The reverse sweep: every tensor waits until all its children have reported, then passes its gradient on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import no_grad
from gradcheck.autograd.op import Op
from gradcheck.autograd.pullback import cast, cotangents, in_single
from gradcheck.autograd.tensor import Tensor, plain, wrap
from gradcheck.errors import BackwardTwice, NoGradRequired, NonScalarBackward, ShapeMismatch

#: `pull(tensor, gradient)` gives what each creator that requires a gradient receives, one entry for each use.
Pull = Callable[[Tensor, Any], Iterable[tuple[Tensor, Any]]]


def backward(
    roots: Sequence[Tensor], gradients: Sequence[Any], *, retain_graph: bool = False, create_graph: bool = False
) -> None:
    """Accumulate into `grad` what flows from all `roots` at once, in one sweep."""
    for tensor, gradient in _gradients(roots, gradients, create_graph, frozenset()).items():
        known = tensor.grad
        tensor.grad = (
            gradient if known is None else known + gradient if create_graph else wrap(known.data + gradient.data)
        )
    if not retain_graph and not create_graph:
        free(roots)


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
    found = _gradients(roots, seeds, create_graph, frozenset(wanted))
    if not retain_graph and not create_graph:
        free(roots)
    return tuple(found.get(tensor) for tensor in wanted)


def free(roots: Iterable[Tensor]) -> None:
    """Drop the values that the graph below `roots` saved for its rules."""
    stack = list(roots)
    while stack:
        tensor = stack.pop()
        if tensor._args is not None:
            tensor._args = None
            stack.extend(tensor.creators)


def sweep(
    roots: Sequence[Tensor], seeds: Sequence[Any], pull: Pull, keep: frozenset[Tensor] = frozenset()
) -> dict[Tensor, Any]:
    """The gradients of leaves, of tensors that retain theirs, and of those in `keep`.

    Linear in tensors and uses, and iterative: no graph is too deep. A tensor used k times by one child receives k
    contributions.
    """
    pending = count_pending(roots)
    gradients: dict[Tensor, Any] = {}
    for root, seed in zip(roots, seeds, strict=True):
        gradients[root] = gradients[root] + seed if root in gradients else seed
    ready = [root for root in dict.fromkeys(roots) if pending[root] == 0]
    found: dict[Tensor, Any] = {}
    owned: set[Tensor] = set()
    while ready:
        tensor = ready.pop()
        gradient = gradients.pop(tensor)
        if tensor.creation_op is None or tensor._retains_grad or tensor in keep:
            found[tensor] = gradient
        if tensor.creation_op is None:
            continue
        for creator, contribution in pull(tensor, gradient):
            known = gradients.get(creator)
            if known is None:
                gradients[creator] = contribution
            elif creator in owned:
                known += contribution
            else:
                gradients[creator] = known = known + contribution
                if type(known) is np.ndarray:
                    owned.add(creator)
            pending[creator] -= 1
            if not pending[creator]:
                ready.append(creator)
    return found


def count_pending(roots: Sequence[Tensor]) -> dict[Tensor, int]:
    """For every tensor below `roots` that requires a gradient, how many contributions it will receive."""
    pending = dict.fromkeys(roots, 0)
    stack = list(pending)
    while stack:
        tensor = stack.pop()
        if tensor._args is None and tensor.creation_op is not None:
            raise BackwardTwice(
                "a second backward pass through a graph whose saved values are freed",
                hint="pass retain_graph=True to the first",
            )
        for creator in tensor.creators:
            if creator.requires_grad:
                count = pending.get(creator)
                if count is None:
                    stack.append(creator)
                    count = 0
                pending[creator] = count + 1
    return pending


def _gradients(
    roots: Sequence[Tensor], gradients: Sequence[Any], create_graph: bool, keep: frozenset[Tensor]
) -> dict[Tensor, Tensor]:
    seeds = [_seed(root, gradient) for root, gradient in zip(roots, gradients, strict=True)]
    if create_graph:
        return sweep(roots, seeds, _pull_tensors, keep)
    with no_grad():
        found = sweep(roots, [seed.data for seed in seeds], _pull_arrays, keep)
    return {tensor: wrap(array) for tensor, array in _unshared(found)}


def _unshared(found: dict[Tensor, np.ndarray]) -> Iterable[tuple[Tensor, np.ndarray]]:
    """Each gradient as an array of its own: rules may hand on the cotangent itself, or a view of it."""
    seen: set[int] = set()
    for tensor, array in found.items():
        if id(array) in seen or array.base is not None or not array.flags.writeable:
            array = array.copy()
        seen.add(id(array))
        yield tensor, array


def _seed(root: Tensor, gradient: Any) -> Tensor:
    if not root.requires_grad:
        raise NoGradRequired("a backward pass from a tensor that requires no gradient")
    if gradient is None:
        if root.data.size != 1:
            raise NonScalarBackward(
                f"a backward pass without a gradient from a tensor of shape {root.shape}",
                hint="only a tensor of one element has an obvious gradient, 1; pass one",
            )
        return wrap(np.ones_like(root.data))
    tensor = gradient if isinstance(gradient, Tensor) else wrap(np.array(gradient, dtype=root.dtype))
    if tensor.shape != root.shape:
        raise ShapeMismatch(f"the incoming gradient has shape {tensor.shape}, its tensor {root.shape}")
    return tensor if tensor is gradient and tensor.requires_grad else wrap(tensor.data.astype(root.dtype))


def _pull_arrays(tensor: Tensor, gradient: np.ndarray) -> Iterable[tuple[Tensor, np.ndarray]]:
    op, args = _node(tensor)
    values = plain(op, args)
    if op.elementwise and gradient.dtype.kind == "f" and gradient.dtype.itemsize > 2:
        shares = []
        for arg, rule in zip(args, op.rules, strict=False):
            if type(arg) is Tensor and arg.requires_grad and rule is not None:
                share = rule(gradient, tensor.data, *values)
                if share.shape != arg.data.shape or share.dtype is not arg.data.dtype:
                    break
                shares.append((arg, share))
            elif type(arg) is Tensor and arg.requires_grad:
                break
        else:
            return shares
    output = tensor.data
    if gradient.dtype in dtypes.HALVES or output.dtype in dtypes.HALVES:
        gradient, output = in_single(gradient), in_single(output)
        shaped = [in_single(value) for value in values]
        return [(c, cast(g, c.dtype)) for c, g in _spread(op, gradient, output, shaped, args)]
    return _spread(op, gradient, output, values, args)


def _pull_tensors(tensor: Tensor, gradient: Tensor) -> Iterable[tuple[Tensor, Any]]:
    op, args = _node(tensor)
    return _spread(op, gradient, tensor, list(args), args)


def _node(tensor: Tensor) -> tuple[Op, tuple[Any, ...]]:
    if tensor.creation_op is None or tensor._args is None:
        raise BackwardTwice("the graph was freed while a backward pass ran through it")
    return tensor.creation_op, tensor._args


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
