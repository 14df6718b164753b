"""The gradients of single nodes of torch's graph, without a backward pass.

A node can be called with the gradient of its result, and returns those of its arguments, by the code that a backward
pass runs. A pass also sums each to its argument's shape, which is done here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from gradcheck.engines.define_by_run import Shares
from gradcheck.engines.recording import RecordedCall, flat, has_keyword_tensor

_Tensor = torch.Tensor
#: Dtypes that NumPy and torch share.
_PLAIN = {torch.float64: np.dtype(np.float64), torch.float32: np.dtype(np.float32)}


def pull_back_by_nodes(calls: Sequence[RecordedCall], cotangents: Sequence[np.ndarray]) -> list[Shares]:
    """Return the gradients of calls that are one node each, None for others."""
    with torch.no_grad():
        return [_pull_back_call(call, cotangent) for call, cotangent in zip(calls, cotangents, strict=True)]


def _pull_back_call(call: RecordedCall, cotangent: np.ndarray) -> Shares:
    result = call.result
    node: Any = result.grad_fn if type(result) is _Tensor and not has_keyword_tensor(call, _Tensor) else None
    if node is None or _PLAIN.get(result.dtype) is not cotangent.dtype or result.shape != cotangent.shape:
        return None
    tensors = [value for value in flat(call.args) if type(value) is _Tensor and value.requires_grad]
    edges = [(number, edge) for number, edge in enumerate(node.next_functions) if edge[0]]
    if len(edges) != len(tensors):
        return None
    for (_, edge), tensor in zip(edges, tensors, strict=True):
        if not _leads_to(edge, tensor):
            return None
    try:
        given = node(torch.from_numpy(cotangent.copy()))
        given = given if type(given) is tuple else (given,)
        return [_share(given[number], tensor) for (number, _), tensor in zip(edges, tensors, strict=True)]
    except (RuntimeError, TypeError, AttributeError):  # saved values are freed, or there is no gradient
        return None


def _leads_to(edge: tuple[Any, int], tensor: torch.Tensor) -> bool:
    """Return whether an edge of the graph carries this tensor's gradient."""
    function, number = edge
    own = tensor.grad_fn
    if own is None:
        return getattr(function, "variable", None) is tensor
    return own is function and tensor.output_nr == number


def _share(gradient: torch.Tensor, tensor: torch.Tensor) -> np.ndarray:
    whole = gradient if gradient.shape == tensor.shape else gradient.sum_to_size(tensor.shape)
    array: np.ndarray = whole.numpy()
    return array


def nodes(roots: Iterable[torch.Tensor]) -> set[Any]:
    """Return every node of the graph below the roots, except accumulators."""
    stack = [root.grad_fn for root in roots if root.grad_fn is not None]
    found: set[Any] = set(stack)
    while stack:
        for node, _ in stack.pop().next_functions:
            if node is not None and node not in found and node.next_functions:
                found.add(node)
                stack.append(node)
    return found


def backward_name(function: Any) -> str:
    """Return the name of a `Function`'s backward; torch also takes `vjp`."""
    is_own = getattr(function, "vjp", None) not in (None, torch.autograd.Function.vjp)
    return "vjp" if is_own else "backward"


def is_once_differentiable(node: Any) -> bool:
    """Return whether a node is of a `Function` marked `once_differentiable`."""
    function = getattr(node, "_forward_cls", None)
    backward = getattr(function, backward_name(function), None)
    code = getattr(backward, "__code__", None)
    is_torchs = code is not None and code.co_filename == torch.autograd.function.__file__
    return is_torchs and hasattr(backward, "__wrapped__")
