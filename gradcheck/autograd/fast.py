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
from gradcheck.autograd.op import TABLE, Op
from gradcheck.autograd.pullback import fit, pull_arrays
from gradcheck.autograd.settled import constant

#: The dtypes whose arithmetic needs no thought.
_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))
#: So many plans for numbers are kept, for each op, dtype and type of number.
_MOST = 1000
_ARRAY, _new = np.ndarray, object.__new__
_silence, _silent = SILENCE


class _OfTwo:
    """The plan of pairs of tensors, one for each op."""

    __slots__ = ("_op",)

    def __init__(self, op: Op) -> None:
        self._op = op

    def arguments(self, node: Node) -> tuple[Any, ...]:
        return (node.first, node.second)

    def pull(self, node: Node, gradient: np.ndarray) -> Any:
        op, a, b, y = self._op, node.first, node.second, node.data
        left, right = a.data, b.data
        shares = []
        if a.requires_grad:
            share = op.rules[0](gradient, y, left, right)  # type: ignore[misc]
            shares.append((a, share if share.shape == left.shape else fit(op, share, left)))
        if b.requires_grad:
            share = op.rules[1](gradient, y, left, right)  # type: ignore[misc]
            shares.append((b, share if share.shape == right.shape else fit(op, share, right)))
        return shares


class _WithNumber:
    """The plan of pairs of a tensor and a number, one for each number."""

    __slots__ = ("_op", "constant", "number")

    def __init__(self, op: Op, number: float, dtype: np.dtype) -> None:
        self._op, self.number, self.constant = op, number, constant(number, dtype)

    def arguments(self, node: Node) -> tuple[Any, ...]:
        return (node.first, self.number)

    def pull(self, node: Node, gradient: np.ndarray) -> Any:
        a = node.first
        return ((a, self._op.rules[0](gradient, node.data, a.data, self.constant)),)  # type: ignore[misc]


#: What pulls pairs back.
PULLS = (_OfTwo.pull, _WithNumber.pull)


def _plans_of_numbers(op: Op) -> Callable[[Any, np.dtype], _WithNumber]:
    """The plan for a number, of the op's and a dtype's. 1 is no 1.0, and 0.0 no -0.0."""
    known: dict[tuple[type, np.dtype], dict[Any, _WithNumber]] = {
        (kind, dtype): {} for kind in (int, float) for dtype in _PLAIN
    }

    def plan_of(number: Any, dtype: np.dtype) -> _WithNumber:
        plans = known[type(number), dtype]
        plan = plans.get(number)
        if plan is None or not number:
            if len(plans) > _MOST:
                plans.clear()
            plan = plans[number] = _WithNumber(op, number, dtype)
        return plan

    return plan_of


def _operator(name: str) -> Callable[[Any, Any], Any]:
    """An operator that takes the short way for pairs."""
    op = TABLE[name]
    ufunc: Any = op.ufunc
    of_two, plan_of = _OfTwo(op), _plans_of_numbers(op)

    def operator(a: Any, b: Any) -> Any:
        kind, left, other = type(a), a.data, type(b)
        dtype = left.dtype
        if dtype not in _PLAIN:
            return op(a, b)
        if other is kind:
            right = b.data
            if right.dtype is not dtype:
                return op(a, b)
            wanted = a.requires_grad or b.requires_grad
            plan: Any = of_two
        elif other is float or other is int:
            plan = plan_of(b, dtype)
            right, b = plan.constant, None
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
        node.creation_op, node.plan = op, plan
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


def pull(node: Node, gradient: np.ndarray) -> list[tuple[Any, np.ndarray]]:
    """`pull_arrays(node, gradient)`, by the plan of the node if it has one."""
    plan = node.plan
    if plan is None or gradient.dtype is not node.data.dtype:
        return pull_arrays(node, gradient)
    return plan.pull(node, gradient)  # type: ignore[no-any-return]
