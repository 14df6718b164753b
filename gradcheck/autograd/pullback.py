"""One op's part of the reverse sweep: from its result's cotangent to those of its arguments, by its rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.autograd.compiled.released_value import Gone
from gradcheck.autograd.dtypes import HALVES
from gradcheck.autograd.node import Node, computed_again
from gradcheck.autograd.op import TABLE, Op
from gradcheck.autograd.promotion import in_single
from gradcheck.errors import NoGradRequired, ShapeMismatch

#: What one use of a node contributes to the node's gradient.
Share = tuple[Any, Any]


def pull_arrays(node: Node, gradient: np.ndarray) -> list[tuple[Any, np.ndarray]]:
    """What each use of an argument of `node` that requires a gradient receives from the node's `gradient`, as arrays.

    Half precision is computed in float32, and each share rounded once. Raises NoGradRequired for a leaf.
    """
    op, args, output = _creation_op(node), node.arguments, node.array
    values = [arg.array if isinstance(arg, Node) else arg for arg in args]
    if op.sequence is not None:
        values[op.sequence] = [item.array if isinstance(item, Node) else item for item in args[op.sequence]]
    try:
        if gradient.dtype not in HALVES and output.dtype not in HALVES:
            return shares(node, gradient, output, values)
        found = shares(node, in_single(gradient), in_single(output), in_single(values))
    except Gone:  # somebody wants a gradient that was not wanted when the node was made
        for one in (node, *node.creators):
            computed_again(one)
        return pull_arrays(node, gradient)
    return [(creator, cast(share, creator.dtype)) for creator, share in found]


def pull_nodes(node: Node, gradient: Node) -> list[Share]:
    """The same, as nodes that record how they were computed, so that they can be differentiated again."""
    return shares(node, gradient, node, node.arguments)


def shares(node: Node, gradient: Any, output: Any, values: Sequence[Any]) -> list[Share]:
    """The same, as whatever the cotangent, the result and the arguments are given as: arrays, tensors or formulas."""
    op = _creation_op(node)
    conjugate = op.holomorphic and gradient.dtype.kind == "c"
    if conjugate:
        gradient = gradient.conj()
    found: list[Share] = []
    for position, arg in enumerate(node.arguments):
        if isinstance(arg, Node):
            if arg.requires_grad:
                share = cotangent_of(op, position, gradient, output, values)
                found.append((arg, fit(op, share.conj() if conjugate else share, values[position])))
        elif position == op.sequence and any(map(_wants, arg)):
            parts = cotangent_of(op, position, gradient, output, values)
            for item, share, value in zip(arg, parts, values[position], strict=True):
                if _wants(item):
                    found.append((item, fit(op, share.conj() if conjugate else share, value)))
    return found


def cotangent_of(op: Op, position: int, gradient: Any, output: Any, values: Sequence[Any]) -> Any:
    """The cotangent of the argument at `position` as its rule gives it; of the argument that is a sequence, a list."""
    rule = op.rules[position] if position < len(op.rules) else None
    if rule is not None:
        return rule(gradient, output, *values)
    value = values[position]
    return [_zeros_like(item) for item in value] if position == op.sequence else _zeros_like(value)


def _creation_op(node: Node) -> Op:
    if node.creation_op is None:
        raise NoGradRequired("a leaf passes no gradient on")
    return node.creation_op


def _wants(arg: Any) -> bool:
    return isinstance(arg, Node) and arg.requires_grad


def fit(op: Op, cotangent: Any, arg: Any) -> Any:
    """A cotangent as its rule gave it, in the shape and dtype of the argument: where that was broadcast, added up."""
    if cotangent.shape != arg.shape:
        if not op.elementwise:
            raise ShapeMismatch(f"the gradient rule of {op.name} made {cotangent.shape} for an argument of {arg.shape}")
        cotangent = TABLE["sum_to_size"](cotangent, arg.shape)
    if cotangent.dtype is not arg.dtype and cotangent.dtype != arg.dtype:
        if cotangent.dtype.kind == "c" and arg.dtype.kind != "c":
            cotangent = cotangent.real
        if cotangent.dtype != arg.dtype:
            cotangent = cast(cotangent, arg.dtype)
    return cotangent


def cast(value: Any, dtype: np.dtype) -> Any:
    """`value` in another dtype, whatever it is made of."""
    return value.astype(dtype, copy=False) if isinstance(value, np.ndarray) else TABLE["to"](value, dtype)


def _zeros_like(arg: Any) -> Any:
    return TABLE["zeros_like"](arg)
