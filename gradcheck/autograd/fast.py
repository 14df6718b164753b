"""The short way for pairs: two operands of one plain dtype, as in `h * 0.5 + x`, which long graphs are made of.

The definition is the general way: `Op.__call__` forward, `pull_arrays` backward. What is here gives the same results
with less asking, and leaves to the general way whatever it does not know, errors included. All other ops go by `plans`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.autograd.modes import SILENCE, is_recording
from gradcheck.autograd.node import Node
from gradcheck.autograd.op import TABLE
from gradcheck.autograd.pullback import fit, pull_arrays
from gradcheck.autograd.settled import constant

#: The Python numbers that may be one of a pair.
NUMBERS = (float, int)
#: The dtypes whose arithmetic needs no thought.
_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))
_ARRAY, _new = np.ndarray, object.__new__
_silence, _silent = SILENCE


def _operator(name: str) -> Callable[[Any, Any], Any]:
    """An operator that takes the short way for pairs."""
    op = TABLE[name]
    ufunc = op.ufunc
    assert ufunc is not None

    def operator(a: Any, b: Any) -> Any:
        kind, left = type(a), a.data
        dtype = left.dtype
        if dtype not in _PLAIN:
            return op(a, b)
        if type(b) is kind:
            right = b.data
            if right.dtype is not dtype:
                return op(a, b)
            wanted = a.requires_grad or b.requires_grad
        elif type(b) in NUMBERS:
            right = constant(b, dtype)
            wanted = a.requires_grad
        else:
            return op(a, b)
        token = _silence.set(_silent)
        try:
            data = ufunc(left, right)
        except ValueError:  # shapes that do not broadcast
            return op(a, b)
        finally:
            _silence.reset(token)
        if type(data) is not _ARRAY:  # NumPy makes scalars of 0-d results
            data = np.asarray(data)
        if not wanted or not is_recording():
            return kind.wrap(data)
        node = _new(kind)
        node.data = data
        node.grad = None
        node.requires_grad = True
        node.creation_op, node.plan = op, PAIR
        node.first, node.second = a, b
        node.freed = node.retains_grad = False
        return node

    return operator


#: By the name of an op the short way for two operands, the first a tensor.
PAIRED = {name: _operator(name) for name in ("add", "sub", "mul", "div")}


class PairedNode(Node):
    """A node whose `+ - * /` take the short way."""

    __slots__ = ()
    __add__, __sub__, __mul__, __truediv__ = (PAIRED[name] for name in ("add", "sub", "mul", "div"))


class _Pair:
    """The plan of every pair: a node and a second one, or a number."""

    @staticmethod
    def arguments(node: Node) -> tuple[Any, ...]:
        return (node.first, node.second)

    @staticmethod
    def pull(node: Node, gradient: np.ndarray) -> list[tuple[Any, np.ndarray]]:
        op: Any = node.creation_op
        a, b, y = node.first, node.second, node.data
        left = a.data
        if type(b) in NUMBERS:
            share = op.rules[0](gradient, y, left, constant(b, gradient.dtype))
            return [(a, share if share.shape == left.shape else fit(op, share, left))]
        right = b.data
        shares = []
        if a.requires_grad:
            share = op.rules[0](gradient, y, left, right)
            shares.append((a, share if share.shape == left.shape else fit(op, share, left)))
        if b.requires_grad:
            share = op.rules[1](gradient, y, left, right)
            shares.append((b, share if share.shape == right.shape else fit(op, share, right)))
        return shares


PAIR = _Pair()


def pull(node: Node, gradient: np.ndarray) -> list[tuple[Any, np.ndarray]]:
    """`pull_arrays(node, gradient)`, by the plan of the node if it has one."""
    plan = node.plan
    if plan is None or gradient.dtype is not node.data.dtype:
        return pull_arrays(node, gradient)
    return plan.pull(node, gradient)  # type: ignore[no-any-return]
