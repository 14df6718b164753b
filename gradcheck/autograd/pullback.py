"""Pullback of one op: from a result's cotangent to the arguments'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import HALVES
from gradcheck.autograd.node import Node, plain
from gradcheck.autograd.op import TABLE, Op
from gradcheck.autograd.promotion import in_single
from gradcheck.errors import NoGradRequired, ShapeMismatch

#: A node, and the contribution of one use to its gradient.
Share = tuple[Any, Any]


def pull_arrays(node: Node, gradient: np.ndarray) -> list[tuple[Any, np.ndarray]]:
    """Return each use of an argument that requires a gradient with its share.

    Raises NoGradRequired for a leaf.
    """
    return pull_values(node, gradient, node.data, plain(_creation_op(node), node.arguments))


def pull_values(node: Node, gradient: np.ndarray, output: np.ndarray, values: Sequence[Any]) -> list[Share]:
    """Pull back an op that made `output` of the arrays `values`.

    Half precision is computed in float32, and each share rounded once.
    """
    if gradient.dtype not in HALVES and output.dtype not in HALVES:
        return shares(node, gradient, output, values)
    found = shares(node, in_single(gradient), in_single(output), in_single(values))
    return [(creator, cast(share, creator.dtype)) for creator, share in found]


def pull_nodes(node: Node, gradient: Node) -> list[Share]:
    """Pull back by nodes, which can be differentiated again."""
    return shares(node, gradient, node, node.arguments)


def shares(node: Node, gradient: Any, output: Any, values: Sequence[Any]) -> list[Share]:
    """Pull back arrays, tensors or formulas, whatever the values are."""
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
        elif position == op.sequence and any(map(_is_wanted, arg)):
            parts = cotangent_of(op, position, gradient, output, values)
            for item, share, value in zip(arg, parts, values[position], strict=True):
                if _is_wanted(item):
                    found.append((item, fit(op, share.conj() if conjugate else share, value)))
    return found


def cotangent_of(op: Op, position: int, gradient: Any, output: Any, values: Sequence[Any]) -> Any:
    """Return an argument's cotangent by its rule; a list for a sequence."""
    rule = op.rules[position] if position < len(op.rules) else None
    if rule is not None:
        return rule(gradient, output, *values)
    value = values[position]
    return [_zeros_like(item) for item in value] if position == op.sequence else _zeros_like(value)


def _creation_op(node: Node) -> Op:
    if node.creation_op is None:
        raise NoGradRequired("a leaf passes no gradient on")
    return node.creation_op


def _is_wanted(arg: Any) -> bool:
    return isinstance(arg, Node) and arg.requires_grad


def fit(op: Op, cotangent: Any, arg: Any) -> Any:
    """Return a cotangent in the argument's shape and dtype."""
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
    """Return an array, a tensor or a formula in another dtype."""
    return value.astype(dtype, copy=False) if isinstance(value, np.ndarray) else TABLE["to"](value, dtype)


def _zeros_like(arg: Any) -> Any:
    return TABLE["zeros_like"](arg)
